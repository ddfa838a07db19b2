"""libyaml's parser without the rest of PyYAML, which is written in Python, is not used here, and takes long to import.

The parser is a C module. At its import it takes classes out of its package: all of four small modules, and one error of
each large one. `import_libyaml` gives it a package that is not executed yet, with the small modules, and with base
classes in place of those errors. The package is executed as soon as anything else of it is asked for.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec, module_from_spec
from types import SimpleNamespace

_MODULES = ("reader", "scanner", "parser", "composer", "constructor", "emitter", "serializer", "representer")
"""The large modules, of each of which the C module takes one error: `ReaderError` and so on."""


def import_libyaml() -> None:
    """Import `yaml._yaml` and little else of `yaml`, which saves an eighth of the time of a small build.

    Only for a process that is the command line: other programs import `yaml` as they always do. Nothing is done if it
    is imported already. A PyYAML without libyaml, or whose C module takes more, is imported as a whole by its users.
    """
    if "yaml" in sys.modules or not (spec := find_spec("yaml")):
        return
    package = sys.modules["yaml"] = module_from_spec(spec)
    try:
        from yaml import error, events, nodes, tokens  # noqa: F401 - the C module takes them

        for module in _MODULES:  # the error of a reader has no mark
            base = error.YAMLError if module == "reader" else error.MarkedYAMLError
            setattr(package, module, SimpleNamespace(**{f"{module.title()}Error": base}))
        import yaml._yaml  # noqa: F401 - it stays in `sys.modules`
    except (ImportError, AttributeError):
        for name in [name for name in sys.modules if name.partition(".")[0] == "yaml"]:
            del sys.modules[name]
    else:
        for module in _MODULES:
            delattr(package, module)
        vars(package)["__getattr__"] = _execute_and_get


def _execute_and_get(name: str) -> object:
    """An attribute of the package once it is executed; from then on the C module raises the errors of its modules."""
    package = sys.modules["yaml"]
    del vars(package)["__getattr__"]
    assert package.__spec__
    assert package.__spec__.loader
    package.__spec__.loader.exec_module(package)
    for module in _MODULES:
        error = f"{module.title()}Error"
        setattr(sys.modules["yaml._yaml"], error, getattr(getattr(package, module), error))
    return getattr(package, name)
