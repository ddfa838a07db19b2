"""Values that travel from one step to the next, and the one error class.

All that its modules define is here, too. No step's decisions are made here. Named tuples, not dataclasses: making a
frozen dataclass takes half a millisecond, and a build needs forty of them (measured; benchmarks/run.py).
"""

from contextasm.model.build import *
from contextasm.model.document import *
from contextasm.model.fragment import *
from contextasm.model.named_tuple import *
from contextasm.model.profile import *
from contextasm.model.sources import *
