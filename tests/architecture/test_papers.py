"""The papers: the manual pages say all that the program knows, and what they show works."""

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path

import pytest
import yaml

from contextasm import __version__
from contextasm.cli.app import run
from contextasm.cli.command_line import COMMANDS
from contextasm.cli.typer_commands import group
from contextasm.config.input.settings import FILE_KEYS, SETTINGS
from contextasm.config.keys.embedder import COMMON, KINDS
from contextasm.config.profiles.layers import LAYER_KEYS
from contextasm.config.profiles.loader import KEYS
from contextasm.rendering.metrics import ContextMetrics
from contextasm.rules.evaluate import ALIASES
from contextasm.text.memories.parser import FIELDS
from tests.command import ROOT

PAGES = ("ctxasm.1", "ctxasm.yaml.5")

PAPERS = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("CTXASM_")]:
        monkeypatch.delenv(name)


def page(name: str) -> str:
    """A manual page as a reader sees it, without fonts."""
    text = (ROOT / "man" / name).read_text(encoding="utf-8")
    text = re.sub(r"\\f[BIR]", "", text).replace("\\-", "-").replace("\\(ga", "`").replace("\\(aq", "'")
    return re.sub(r"^\.(?:B|I|[BIR]{2}) ", "", text, flags=re.MULTILINE)


def part(name: str, heading: str) -> str:
    return page(name).partition(f"\n.SH {heading}\n")[2].partition("\n.SH ")[0]


def examples(name: str) -> list[str]:
    return re.findall(r"\.nf\n(.*?)\.fi\n", part(name, "EXAMPLES"), re.DOTALL)


def flags(command: str) -> list[str]:
    """Every name of every flag of a command, such as `-a` and `--agent`; without a name, those of `ctxasm` itself."""
    whole = group()
    parameters = (whole.get_command(None, command) if command else whole).params
    return [name for each in parameters if each.param_type_name == "option" for name in each.opts]


@pytest.mark.parametrize("tool", ["man_options.py", "json_schemas.py", "pictures.py"])
def test_what_is_generated_is_current(tool: str) -> None:
    words = [sys.executable, str(ROOT / "tools" / tool), "--check"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_manual_page_has_every_command() -> None:
    written = {*re.findall(r"^\.TP\n(.*)$", part("ctxasm.1", "COMMANDS"), re.MULTILINE)}
    assert {*COMMANDS} - written == set()


def test_the_manual_page_has_every_flag() -> None:
    written = {*re.findall(r"(?<![\w-])-[\w-]+", part("ctxasm.1", "OPTIONS"))}
    assert [name for command in ("", *COMMANDS) for name in flags(command) if name not in written] == []


def test_the_manual_page_has_every_schema_and_every_figure_of_a_report() -> None:
    written = part("ctxasm.1", "JSON")
    schemas = ["/".join(path.stem.rsplit("-", 1)) for path in (ROOT / "contextasm/rendering/schemas").glob("*.json")]
    assert schemas
    for name in (*(f"ctxasm.{schema}" for schema in schemas), *ContextMetrics.__annotations__):
        assert re.search(rf"^{re.escape(name)}$", written, re.MULTILINE), name


@pytest.mark.parametrize("page", ["man/ctxasm.yaml.5", "docs/store.md"])
def test_the_papers_have_every_problem_of_a_store(page: str) -> None:
    code = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "contextasm").rglob("*.py"))
    ids = {*re.findall(r'"(store-[a-z-]+)"', code)}
    written = (ROOT / page).read_text(encoding="utf-8").replace("\\-", "-")
    assert {"store-unreachable", "store-files"} < ids
    assert [each for each in sorted(ids) if each not in written] == []


def test_the_manual_page_has_every_variable() -> None:
    written = part("ctxasm.1", "ENVIRONMENT")
    assert [key for key in SETTINGS if f"CTXASM_{key.upper()}" not in written] == []


@pytest.mark.parametrize(
    ("heading", "keys"),
    [
        ("SETTINGS", FILE_KEYS),
        ("PROFILES", (*KEYS, *LAYER_KEYS)),
        ("MEANING", (*COMMON, *(key for keys in KINDS.values() for key in keys))),
        ("MEMORIES", FIELDS),
        ("RULES", ALIASES),
    ],
)
def test_the_page_of_the_files_has_every_key(heading: str, keys: Iterable[str]) -> None:
    source = (ROOT / "man" / "ctxasm.yaml.5").read_text(encoding="utf-8")
    own = source.partition(f".SH {heading}\n")[2].partition(".SH")[0]
    bold = re.findall(r"^\.(?:B|BR|RB) (.*)$", own, re.MULTILINE)
    assert {*keys} - {*re.findall(r"\w+", " ".join(bold))} == set()


@pytest.mark.parametrize("name", PAGES)
def test_the_manual_pages_are_of_this_version(name: str) -> None:
    assert f'"ctxasm {__version__}"' in page(name).split("\n.SH")[0]


def test_the_examples_of_a_release_are_of_this_version() -> None:
    found = [text for path in PAPERS for text in re.findall(r"(?:rev: |/ctxasm@)v([\d.]+\d)", path.read_text())]
    assert {*found} == {__version__}


def test_every_address_has_the_same_owner() -> None:
    """`just owner` replaces a placeholder: one address that it missed would lead nowhere."""
    address = r"(?:github\.com/|io\.github\.|uses: |https://)([\w-]+)(?:/ctxasm\b|\.github\.io/ctxasm)"
    files = [
        *PAPERS,
        ROOT / "server.json",
        *(ROOT / "contextasm").rglob("*.py"),
        *(ROOT / "tests/cases").rglob("*.txt"),
    ]
    owners = {
        owner for path in files for owner in re.findall(address, path.read_text(encoding="utf-8", errors="ignore"))
    }
    assert len(owners) == 1


@pytest.mark.parametrize("name", PAGES)
def test_the_formatter_has_nothing_to_complain_of(name: str) -> None:
    try:
        done = subprocess.run(
            ["groff", "-man", "-ww", "-z", "-Tutf8", ROOT / "man" / name], capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        pytest.skip("groff is not installed")
    assert (done.returncode, done.stderr) == (0, "")


def test_help_lists_every_flag(capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("", *COMMANDS):
        assert run([*([command] if command else []), "--help"]) == 0
        shown = capsys.readouterr().out
        assert [name for name in flags(command) if name not in shown] == []


def test_the_examples_of_the_manual_page_work(tmp_path: Path) -> None:
    script = tmp_path / "examples.sh"
    script.write_text(f'ctxasm() {{ "{sys.executable}" -m contextasm "$@"; }}\n' + "".join(examples("ctxasm.1")))
    done = subprocess.run(["bash", "-e", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_examples_of_the_page_of_the_files_work(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    settings, profile = examples("ctxasm.yaml.5")
    root = str(tmp_path)
    assert run(["init", root, "-a", "luna", "-t", "q1", "-q"]) == 0
    (tmp_path / "ctxasm.yaml").write_text(settings, encoding="utf-8")
    (tmp_path / "notes.yaml").write_text(profile, encoding="utf-8")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "one.md").write_text("A note.\n", encoding="utf-8")
    assert run(["build", "-w", root, "-q", "--strict"]) == 0
    assert run(["build", "-w", root, "-q", "--strict", "-p", f"{root}/notes.yaml"]) == 0
    assert "## Project Notes\nA note." in capfd.readouterr().out


def test_sections_that_the_code_cites_are_headings_of_the_architecture() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## (.*)$", text, re.MULTILINE)
    laws = re.findall(r"^(\d)\. ", text.partition("\n## Laws\n")[2].partition("\n## ")[0], re.MULTILINE)
    sources = [
        path for folder in ("contextasm", "tests", "tools", "benchmarks") for path in (ROOT / folder).rglob("*.py")
    ]
    code = "\n".join(path.read_text(encoding="utf-8") for path in sources)
    cited = re.findall(r"docs/architecture\.md, (law \d|[A-Z][\w -]*)", code)
    assert cited
    assert set(cited) <= {*headings, *(f"law {number}" for number in laws)}


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "docs/architecture.md"])
def test_files_that_the_guides_name_are_there(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    paths = set(re.findall(r"`((?:[\w.-]+/)+[\w.-]+\.(?:py|md|json|yaml|1|5)|[\w/]+\.py)`", text))
    assert paths
    places = (ROOT, ROOT / "contextasm", ROOT / "contextasm" / "rendering")
    assert [path for path in paths if "NAME" not in path and not any((place / path).exists() for place in places)] == []


def test_every_python_that_is_promised_is_tested() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))
    promised = [name.rpartition(" :: ")[2] for name in project["classifiers"] if " :: Python :: " in name]
    assert workflow["jobs"]["check"]["strategy"]["matrix"]["python-version"] == promised
