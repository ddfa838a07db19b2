"""ctxasm: assemble the context that an LLM agent starts from, out of a folder of Markdown files.

The rooms of the package, the rooms of a build first and in its order:

- `cli`: the command line in, text and exit codes out.
- `config`: options, environment, settings, profiles and rule files become a `Build`.
- `workspace`: read and write the user's folder, its git revisions and its outputs.
- `retrieval`: find the fragments of each layer.
- `rules`: include, exclude, boost and cap fragments and layers.
- `ranking`: filter, order and deduplicate fragments, and resolve conflicts.
- `selection`: fit fragments into the budget, whole or shortened.
- `rendering`: write the document in its format, and word every decision.
- `records`: record and replay builds, compare them, and trace a line.
- `upkeep`: plan what keeps memories and logs worth reading, apply it, and take it back.
- `checks`: find defects of a workspace, and what a host cuts.
- `integrations`: adapters for programs that run agents.
- `text`: file formats and texts as pure functions.
- `model`: the values that travel between all of these.
- `pipeline`: `assemble`, which calls the steps from `retrieval` to `rendering` in their order.
- `api`: the functions that programs call; `contextasm.build` and the others are theirs.

`docs/architecture.md` says which room may import which.
"""

# As `typing` has it: type checkers know the name. To import `typing` would take half as long as `--version`.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from contextasm.api import ContextasmError as ContextasmError
    from contextasm.api import build as build
    from contextasm.api import count as count
    from contextasm.api import explain as explain
    from contextasm.api import find_memory as find_memory
    from contextasm.api import fit as fit
    from contextasm.api import log as log
    from contextasm.api import owners as owners
    from contextasm.api import remember as remember
    from contextasm.api import render as render
    from contextasm.api import search as search

__version__ = "1.0.0"

__all__ = [
    "ContextasmError",
    "__version__",
    "build",
    "count",
    "explain",
    "find_memory",
    "fit",
    "log",
    "owners",
    "remember",
    "render",
    "search",
]


def __getattr__(name: str) -> object:
    """A function of `api`, which is imported at its first use: the package itself costs next to nothing."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from contextasm import api

    return getattr(api, name)


def __dir__() -> list[str]:
    return __all__
