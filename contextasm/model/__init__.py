"""Every frozen value that travels from one step to the next, and the one error class.

Named tuples, not dataclasses: making a frozen dataclass takes half a millisecond, and a build needs forty of them
(measured; benchmarks/run.py).

Nothing here decides anything. A value says what it holds, in which unit, and what its empty form means;
the steps that make it are on the floors above.
"""

from contextasm.model.fragment import (
    OUTCOME,
    Allowance,
    Context,
    Decision,
    Found,
    Fragment,
    Memory,
    Reason,
    Ruled,
    Ruling,
    Section,
    Selection,
)
from contextasm.model.profile import (
    Conflicts,
    ContextasmError,
    Data,
    Document,
    Fact,
    Filters,
    Layer,
    Parse,
    Problem,
    Profile,
    Request,
    Span,
    Stamp,
    Stamped,
    Workspace,
)
from contextasm.model.protocols import Ask, Embedder, Meaning, Pool, Pools, Standing, Summarizer, SummaryCommand, T

__all__ = [
    "OUTCOME",
    "Allowance",
    "Ask",
    "Conflicts",
    "Context",
    "ContextasmError",
    "Data",
    "Decision",
    "Document",
    "Embedder",
    "Fact",
    "Filters",
    "Found",
    "Fragment",
    "Layer",
    "Meaning",
    "Memory",
    "Parse",
    "Pool",
    "Pools",
    "Problem",
    "Profile",
    "Reason",
    "Request",
    "Ruled",
    "Ruling",
    "Section",
    "Selection",
    "Span",
    "Stamp",
    "Stamped",
    "Standing",
    "Summarizer",
    "SummaryCommand",
    "T",
    "Workspace",
]
