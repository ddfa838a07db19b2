"""Every frozen value that travels from one step to the next, and the one error class.

Named tuples, not dataclasses: making a frozen dataclass takes half a millisecond, and a build needs forty of them
(measured; benchmarks/run.py).

Nothing here decides anything. A value says what it holds, in which unit, and what its empty form means;
the steps that make it are on the floors above.
"""

from contextasm.model.fragment import (
    OUTCOME,
    AfterRules,
    Context,
    Decision,
    Fragment,
    LayerUsage,
    Memory,
    Reason,
    RetrievalResult,
    RuleTrace,
    Section,
    Selection,
)
from contextasm.model.profile import (
    Conflicts,
    ContextasmError,
    Data,
    Document,
    Fact,
    FileStamp,
    Filters,
    Layer,
    Parse,
    Problem,
    Profile,
    Request,
    Span,
    StampedWorkspace,
    Workspace,
)
from contextasm.model.protocols import (
    EmbedderConfig,
    IndexedPools,
    MemoryPool,
    ScoreInputs,
    SemanticSimilarity,
    SourceQuery,
    Summarizer,
    SummarizerConfig,
    T,
)

__all__ = [
    "OUTCOME",
    "LayerUsage",
    "SourceQuery",
    "Conflicts",
    "Context",
    "ContextasmError",
    "Data",
    "Decision",
    "Document",
    "EmbedderConfig",
    "Fact",
    "Filters",
    "RetrievalResult",
    "Fragment",
    "Layer",
    "SemanticSimilarity",
    "Memory",
    "Parse",
    "MemoryPool",
    "IndexedPools",
    "Problem",
    "Profile",
    "Reason",
    "Request",
    "AfterRules",
    "RuleTrace",
    "Section",
    "Selection",
    "Span",
    "FileStamp",
    "StampedWorkspace",
    "ScoreInputs",
    "Summarizer",
    "SummarizerConfig",
    "T",
    "Workspace",
]
