"""The command line imports a part of PyYAML: it reads the same, and whoever wants the rest of the package gets it."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.command import LUNA, ctxasm, python
from tests.config.input.test_yaml_loader import LEAKS, REFUSED

pytestmark = pytest.mark.skipif(not yaml.__with_libyaml__, reason="PyYAML has no libyaml")

SCRIPT = """
import json, sys
from contextasm.config.input import libyaml
texts, how = json.loads(sys.argv[1]), sys.argv[2]
if how == "unknown name":
    libyaml._MODULES = [name for name in libyaml._MODULES if name != "emitter"]
if how != "whole":
    libyaml.import_libyaml()
from contextasm.config.input.yaml_loader import load_yaml
from contextasm.model import ContextasmError
seen = {"early": "yaml.scanner" in sys.modules, "messages": []}
def read():
    for text in texts:
        try:
            seen["messages"].append(repr(load_yaml(text.encode("utf-8", "surrogatepass"), "f.yaml")))
        except ContextasmError as error:
            seen["messages"].append(str(error))
read()
import yaml
seen["names"] = sorted(name for name in dir(yaml) if hasattr(yaml, name)) if yaml.__version__ else []
seen["value"] = yaml.load("a: [1, {b: 2025-03-14}]", yaml.CSafeLoader)["a"][1]["b"].isoformat()
seen["dump"] = yaml.dump({"a": [1, None]}, Dumper=yaml.CSafeDumper)
for text, error in ("'", yaml.scanner.ScannerError), ("[}", yaml.parser.ParserError), ("\\0", yaml.reader.ReaderError):
    for loader in yaml.SafeLoader, yaml.CSafeLoader:
        try:
            yaml.load(text, loader)
        except error:
            seen.setdefault("caught", []).append(error.__name__)
read()
print(json.dumps(seen))
"""
"""Reads texts with a part of PyYAML or all of it, then uses all of it, then reads again."""

TEXTS = [*(text for text, _, _ in REFUSED.values() if isinstance(text, str)), *LEAKS, "a: [1, b, {c: 2.5}]", ""]


def seen(how: str, folder: str = "") -> dict[str, object]:
    result = python(SCRIPT, json.dumps(TEXTS), how, env={"PYTHONPATH": folder} if folder else None)
    assert result.code == 0, result.err
    value: dict[str, object] = json.loads(result.out)
    return value


def assert_part_is_as_good(folder: str = "") -> None:
    whole = seen("whole", folder)
    assert seen("part", folder) == {**whole, "early": False}
    assert whole["early"]
    assert whole["caught"] == [error for error in ("ScannerError", "ParserError", "ReaderError") for _ in range(2)]


def test_command_line_reads_yaml_as_a_program_does_and_leaves_all_of_pyyaml_to_others() -> None:
    assert_part_is_as_good()


def test_pyyaml_whose_c_module_takes_more_names_is_imported_whole() -> None:
    assert seen("unknown name") == seen("whole")


def test_pyyaml_without_libyaml_gives_the_same_bytes(tmp_path: Path) -> None:
    shutil.copytree(Path(yaml.__file__).parent, tmp_path / "yaml", ignore=shutil.ignore_patterns("*.so", "*.pyd"))
    without = python("import yaml; print(yaml.__with_libyaml__)", env={"PYTHONPATH": str(tmp_path)})
    assert without.out == "False\n"
    assert ctxasm("build", *LUNA, env={"PYTHONPATH": str(tmp_path)}) == ctxasm("build", *LUNA)


@pytest.mark.pip
@pytest.mark.parametrize("version", ["6.0", "6.0.1", "6.0.2", "6.0.3", "6.0.4"])
def test_each_pyyaml_that_is_allowed_gives_its_parser(version: str, tmp_path: Path) -> None:
    """These are all versions since 6; `pip index versions pyyaml` lists newer ones."""
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--only-binary=:all:", "--target", str(tmp_path)]
    if subprocess.run([*pip, f"pyyaml=={version}"], capture_output=True, check=False).returncode:
        pytest.skip("pip has no such wheel")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]).strip(os.pathsep)
    result = python("import yaml; print(yaml.__version__)", env={"PYTHONPATH": path})
    assert result.out == f"{version}\n"
    assert_part_is_as_good(path)
