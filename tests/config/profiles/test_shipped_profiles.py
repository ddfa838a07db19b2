"""The shipped profiles over one engine: each on a workspace of its own, as a document that a person can check.

`cases/profiles/NAME/workspace` is built with the words below. `UPDATE_CASES=1 pytest FILE`, with the name of this file,
writes what is built now to `cases/profiles/NAME/NAME.md`; read the difference.
"""

import re
from pathlib import Path
from shutil import copytree

import pytest

import contextasm
from contextasm.config.hosts.loader import load_host
from contextasm.config.profiles.loader import load_profile, shipped
from tests.command import CASES, held_against, inside

PROFILES = CASES / "profiles"

ASKED = {
    "query": ("query", "--additional", "The audit is on Friday."),
    "query-coding": ("query", "--strategy", "coding", "-b", "500", "--topic", "What owns the ledger?"),
    "seed-rule": ("seed-rule", "--topic", "the login fails"),
    "librarian": ("librarian", "--topic", "why is the import slow", "--open", "desk/importer.py"),
    "memory": ("memory", "--topic", "spring tide", "--open", "src/tides.py"),
    "memory-code": ("memory", "--strategy", "code", "-b", "300", "--topic", "spring tide", "--open", "src/tides.py"),
    "brain": ("brain",),
    "brain-brief": ("brain", "--strategy", "brief", "-b", "240"),
    "brain-small": ("brain", "-b", "240", "--open", "web/auth.ts"),
    "pack": ("pack", "--topic", "session cookies", "--open", "web/session.ts"),
    "pack-minimal": ("pack", "--strategy", "minimal"),
}
"""Each case: the folder of its workspace, and what is asked."""


@pytest.mark.parametrize("case", ASKED)
def test_profile_gives_the_document_that_was_read_and_found_right(case: str, tmp_path: Path) -> None:
    folder, *words = ASKED[case]
    # A copy, because git may track the files here.
    workspace = copytree(PROFILES / folder / "workspace", tmp_path / "workspace")
    result = inside("build", "-q", "-w", workspace, *words)
    assert (result.code, result.err) == (0, "")
    held_against(PROFILES / folder / f"{case}.md", result.out)


def test_openclaw_shows_as_much_of_each_file_as_its_host() -> None:
    host, profile = load_host("openclaw", "tests"), load_profile("openclaw", "tests", Path())
    limits = {name: rule.each.chars for rule in host.loads for name in rule.files}
    own = {path: layer.limits.max_chars for layer in profile.layers for path in layer.query.paths}
    assert profile.max_chars == host.total
    for name in ("SOUL.md", "IDENTITY.md", "AGENTS.md", "USER.md", "BOOTSTRAP.md", "MEMORY.md"):
        assert own[name] == limits[name]


def test_no_code_knows_a_profile_or_a_layer_by_name() -> None:
    names = set(shipped()) - {"default"}
    package = Path(contextasm.__file__).parent
    layers = {layer.id for name in names for layer in load_profile(name, "", Path()).layers}
    own = {"query", "librarian", "brain", "pack", "openclaw"} | {each for each in layers if each[-1].isdigit()}
    for path in package.rglob("*.py"):
        # A tensor and a part of a layer are called `query`, too, and an import's format is named for the program.
        if path.name in {"local_model.py", "layers.py"} or path.match("exchange/*.py"):
            continue
        found = set(re.findall(r"""["']([\w-]+)["']""", path.read_text(encoding="utf-8"))) & own
        assert not found, f"{path}: {found}"


def test_files_that_a_host_loads_in_private_sessions_only_are_private() -> None:
    profile, host = load_profile("openclaw", "-p", Path()), load_host("openclaw", "--host")
    own = {name for rule in host.loads for name in rule.files if "private sessions only" in rule.source}
    private = {path for layer in profile.layers if layer.private for path in layer.query.paths}
    assert own == {"MEMORY.md"} <= private
