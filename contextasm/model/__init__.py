"""The values that travel from one step to the next, and the one error class. Nothing here decides anything.

Named tuples, not dataclasses: making a frozen dataclass takes half a millisecond, and a build needs forty of them
(measured; benchmarks/run.py).
"""

from contextasm.model.build import SourceQuery as SourceQuery
from contextasm.model.context import Context as Context
from contextasm.model.context import Decision as Decision
from contextasm.model.context import LayerUsage as LayerUsage
from contextasm.model.context import Marker as Marker
from contextasm.model.context import Omission as Omission
from contextasm.model.context import Section as Section
from contextasm.model.context import SectionFormat as SectionFormat
from contextasm.model.context import Selection as Selection
from contextasm.model.document import Data as Data
from contextasm.model.document import Document as Document
from contextasm.model.document import FileStamp as FileStamp
from contextasm.model.document import Memory as Memory
from contextasm.model.document import Parse as Parse
from contextasm.model.document import Span as Span
from contextasm.model.document import StampedWorkspace as StampedWorkspace
from contextasm.model.document import Workspace as Workspace
from contextasm.model.errors import ContextasmError as ContextasmError
from contextasm.model.errors import Problem as Problem
from contextasm.model.fragment import OUTCOME as OUTCOME
from contextasm.model.fragment import Fact as Fact
from contextasm.model.fragment import Fragment as Fragment
from contextasm.model.fragment import FragmentDisplay as FragmentDisplay
from contextasm.model.fragment import Labels as Labels
from contextasm.model.fragment import Location as Location
from contextasm.model.fragment import Reason as Reason
from contextasm.model.fragment import RetrievalResult as RetrievalResult
from contextasm.model.fragment import Verdict as Verdict
from contextasm.model.profile import Conflicts as Conflicts
from contextasm.model.profile import Layer as Layer
from contextasm.model.profile import LayerDisplay as LayerDisplay
from contextasm.model.profile import Limits as Limits
from contextasm.model.profile import MemoryScope as MemoryScope
from contextasm.model.profile import Overflow as Overflow
from contextasm.model.profile import Profile as Profile
from contextasm.model.profile import Query as Query
from contextasm.model.profile import Ranking as Ranking
from contextasm.model.protocols import EmbedderConfig as EmbedderConfig
from contextasm.model.protocols import IndexedPools as IndexedPools
from contextasm.model.protocols import MemoryPool as MemoryPool
from contextasm.model.protocols import ScoreInputs as ScoreInputs
from contextasm.model.protocols import SemanticSimilarity as SemanticSimilarity
from contextasm.model.protocols import Summarizer as Summarizer
from contextasm.model.protocols import SummarizerConfig as SummarizerConfig
from contextasm.model.protocols import T as T
from contextasm.model.request import Filters as Filters
from contextasm.model.request import Request as Request
from contextasm.model.rule import AfterRules as AfterRules
from contextasm.model.rule import Condition as Condition
from contextasm.model.rule import Effect as Effect
from contextasm.model.rule import Facts as Facts
from contextasm.model.rule import Rule as Rule
from contextasm.model.rule import RuleEvaluation as RuleEvaluation
from contextasm.model.rule import RuleTrace as RuleTrace
from contextasm.model.rule import Target as Target
from contextasm.model.score import DECAY as DECAY
from contextasm.model.score import Score as Score
from contextasm.model.score import memory_score as memory_score
from contextasm.model.score import recency as recency
from contextasm.model.score import weighted_total as weighted_total
