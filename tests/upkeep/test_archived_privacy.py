"""What upkeep leaves of privacy: nothing that was kept from a context is shown for having been tidied."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.command import SAMPLE, SMALL, fill, inside
from tests.upkeep.memories.test_memories import ALIKE, many

WORDS = "Teodor hides brass keys"
OLD = "teams/q1/daily/2025-03-12-evening.md"
ASKED = ("-t", "q1", "--date", "2026-03-14", "--topic", "brass keys")
WORKSPACE = {
    **SMALL,
    "teams/q1/GOALS.md": "# Goals\n",
    OLD: f"# Evening\n\n- {WORDS}\n",
    "teams/q1/daily/2025-03-13.md": "# Day\n\n- Brass keys are sold at the harbor\n",
}


def tidy(root: Path, which: str = "--all") -> None:
    """Carry out the plan of a day a year later."""
    done = inside("tidy", "-w", root, "--date", "2026-03-14", "--apply", which)
    assert done.code == 0, done.err


@pytest.fixture(params=["plain", "gzip"])
def compress(request: pytest.FixtureRequest) -> str:
    """Settings of upkeep, for archives as they are and compressed."""
    return f"upkeep:\n  logs: {{compress: {str(request.param == 'gzip').lower()}}}\n"


def test_a_rule_that_excludes_a_log_holds_for_it_in_the_archive(tmp_path: Path) -> None:
    root = shutil.copytree(SAMPLE, tmp_path / "sample")
    words = ("-a", "luna", *ASKED[:-1], "press: outboard motors Teodor father")
    before = inside("build", "-w", root, *words)
    tidy(root, "--safe")
    after = inside("build", "-w", root, *words)
    assert "outboard" not in before.out
    assert after.out.replace("/archive/2025/", "/") == before.out


@pytest.mark.parametrize("pattern", ["teams/q1/daily/*-evening.md", OLD, f"{OLD}:3"])
def test_an_option_that_excludes_a_log_holds_for_it_in_the_archive(tmp_path: Path, compress: str, pattern: str) -> None:
    root = fill(tmp_path, {**WORKSPACE, "ctxasm.yaml": compress})
    words = ("build", "-w", root, *ASKED)
    for _ in range(2):
        done = inside(*words, "--exclude", pattern)
        assert (WORDS in done.out, "at the harbor" in done.out, "--exclude" in done.err) == (False, True, False)
        assert WORDS in inside(*words).out
        tidy(root)
    assert not (root / OLD).exists()


def _private_layer(path: str, settings: str = "") -> Mapping[str, str]:
    """Settings and a profile with a private layer of these logs."""
    layer = f"{{id: night, heading: Night, source: daily, path: '{path}', private: true}}"
    profile = f"extends: default\nlayers:\n  - {layer}\n"
    return {"ctxasm.yaml": f"profile: profiles/p.yaml\n{settings}", "profiles/p.yaml": profile}


@pytest.mark.parametrize("path", ["teams/{team}/daily/*-evening.md", OLD])
def test_the_logs_of_a_private_layer_stay_private_in_the_archive(tmp_path: Path, compress: str, path: str) -> None:
    root = fill(tmp_path, {**WORKSPACE, **_private_layer(path, compress)})
    for _ in range(2):
        shared = inside("build", "-w", root, *ASKED, "--audience", "shared")
        assert (shared.code, WORDS in shared.out, "at the harbor" in shared.out) == (0, False, True)
        assert WORDS in inside("build", "-w", root, *ASKED).out
        tidy(root)
    shutil.copy(root / "teams/q1/GOALS.md", root / "teams/q1/GOALS.bak")
    (root / "teams/q1/GOALS.md").write_text(WORKSPACE[OLD])
    assert WORDS not in inside("build", "-w", root, *ASKED, "--audience", "shared").out


@pytest.mark.parametrize("target", [OLD, f"{OLD}#Evening"])
def test_a_rule_that_includes_a_log_finds_it_in_the_archive(tmp_path: Path, compress: str, target: str) -> None:
    rule = f"name: night\nthen:\n  always_include: ['{target}']\n"
    root = fill(tmp_path, {**WORKSPACE, "ctxasm.yaml": compress, "rules/r.yaml": rule})
    for _ in range(2):
        done = inside("build", "-w", root, *ASKED[:-2], "--strict")
        assert (done.code, WORDS in done.out, "pin-missing" in done.err) == (0, True, False), done.err
        assert "rules/r.yaml" not in inside("check", "-w", root).out
        tidy(root)


# --- Memories in private parts ---------------------------------------------------------------------------------------

FILE = "agents/a/memories/m.md"
PUBLIC = "- [fact] Another thing entirely {created=2026-03-01}\n"


def shared(root: Path) -> str:
    """What others see of the memories."""
    done = inside(
        "build", "-w", root, "--date", "2026-03-14", "--topic", "spare key harbor master", "--audience", "shared"
    )
    assert done.code == 0, done.err
    return done.out


def test_texts_of_a_private_section_are_never_consolidated_into_a_public_one(tmp_path: Path) -> None:
    alike = "".join(f"- [fact] {text} {{created=2026-03-01}}\n" for text in ALIKE)
    text = f"{many(20, [])}\n## Sect {{private=true}}\n\n{alike}\n## Open\n\n{PUBLIC}"
    root = fill(tmp_path, {**SMALL, FILE: text})
    tidy(root)
    (kept,) = [line for line in (root / FILE).read_text().splitlines() if "supersedes=" in line]
    text = (root / FILE).read_text()
    assert text.index("## Sect") < text.index(kept) < text.index("## Open")
    assert "harbor master" not in shared(root)


# --- Search in archives ----------------------------------------------------------------------------------------------

LEAVING = "- [fact] The lamp hides a key {status=deprecated}\n"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"## Sect {{private=true}}\n\n{LEAVING}", id="section"),
        pytest.param(LEAVING.replace("}", " private=true}"), id="field"),
        pytest.param(f"---\nprivate: true\n---\n- [fact] Stays\n{LEAVING}", id="file"),
    ],
)
def test_a_shared_search_in_archives_finds_nothing_private(tmp_path: Path, text: str) -> None:
    public = "- [fact] The lamp is green {status=deprecated}\n"
    root = fill(tmp_path, {**SMALL, FILE: text, "agents/a/memories/p.md": public})
    tidy(root)
    words = ("search", "-w", root, "--archive", "lamp")
    assert "hides a key" in inside(*words).out
    options = [inside(*words, "--audience", "shared"), inside(*words, env={"CTXASM_AUDIENCE": "shared"})]
    (root / "ctxasm.yaml").write_text("audience: shared\n")
    for done in (*options, inside(*words)):
        assert ("hides a key" in done.out, "is green" in done.out) == (False, True)
    archives = [path.read_text() for path in root.glob("**/*.txt")]
    assert all('"The lamp hides' not in archive for archive in archives)


def test_a_shared_search_in_archives_finds_no_private_log(tmp_path: Path, compress: str) -> None:
    logs = {
        "teams/q1/daily/2025-03-14.md": "# Day\n\n- A brass lock {private=true}\n- A brass bell\n",
        "teams/q1/daily/2025-03-15.md": "---\nprivate: true\n---\n\n- A brass box\n",
    }
    layer = _private_layer("teams/{team}/daily/*-evening.md", compress)
    root = fill(tmp_path, {**WORKSPACE, **logs, **layer})
    tidy(root)
    words = ("search", "-w", root, "--archive", "--json", "--top", "9", "brass")
    texts = {each["text"] for each in json.loads(inside(*words).out)["hits"]}
    assert {WORDS, "A brass box", "A brass bell"} <= texts
    found = {each["text"] for each in json.loads(inside(*words, "--audience", "shared").out)["hits"]}
    assert found == {"A brass bell", "Brass keys are sold at the harbor"}
