"""Imports of libraries that are put off until the library uses what it imported."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType

UNUSED = ("bz2", "ipaddress", "linecache", "lzma", "shellingham", "subprocess", "textwrap", "tokenize")
"""Modules that typer, and what it imports, import at their tops, and that a build never uses (`-X importtime`)."""


@contextmanager
def deferred_imports(names: Sequence[str]) -> Iterator[None]:
    """Have `import NAME` put off importing a module, for these names.

    Within the block, `import NAME` gives a stand-in that imports the module when an attribute is first read. Setting an
    attribute changes only the stand-in. `from NAME import` reads at once. Imports after the block find no stand-in:
    none is left in `sys.modules`. A name that no module has raises ImportError when an attribute is read.
    """
    stand_ins = {name: _stand_in(name) for name in names if name not in sys.modules}
    sys.modules.update(stand_ins)
    try:
        yield
    finally:
        for module in stand_ins.values():
            _remove(module)


def _stand_in(name: str) -> ModuleType:
    def attribute(wanted: str) -> object:
        _remove(module)
        return getattr(import_module(name), wanted)

    module = ModuleType(name)
    vars(module)["__getattr__"] = attribute
    return module


def _remove(stand_in: ModuleType) -> None:
    if sys.modules.get(stand_in.__name__) is stand_in:
        del sys.modules[stand_in.__name__]
