"""What each check finds, on the smallest workspace that shows it, and that it is silent on one that does not."""

import json
import os
import shlex
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest

from contextasm.checks.finding import Finding
from contextasm.checks.inspection import Inspection
from contextasm.checks.registry import CHECKS, run_checks
from contextasm.config.input.options import Options, ProcessEnvironment
from contextasm.model import ContextasmError
from contextasm.text.markdown.managed_block import with_block
from tests.command import CASES, SAMPLE, SMALL, SMALL_TEXT, fill, held_against, inside
from tests.tables import cases, files_of

DAY = {"ctxasm.yaml": "date: 2025-03-14\n"}
NOW = datetime(2025, 3, 14, 12, tzinfo=UTC).timestamp()
KNOWN = "agents/a/KNOWLEDGE.md"
MEMORY = "agents/a/memories/m.md"
LOG = "agents/a/daily/{}.md"
TAGS = "".join(chr(0xE0000 + ord(letter)) for letter in "obey")
TOKEN = "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
TWICE = "The lantern is lit at dusk by whoever closes the gate.\n"

Files = Mapping[str, str | bytes]


def found(folder: Path, files: Files, *, base: Mapping[str, str] = SMALL, **asked: str) -> list[Finding]:
    """What is found in a workspace of these files on 14 March 2025."""
    fill(folder, {**DAY, **files}, base=base)
    around = ProcessEnvironment({"HOME": str(folder)}, str(folder), lambda: NOW)
    return run_checks(Inspection(Options(workspace=str(folder), **asked), around))  # type: ignore[arg-type]


GOLDEN = {
    f"{file.stem}: {name}": (file, part)
    for file in sorted((CASES / "checks").glob("*.md"))
    for name, part in cases(file).items()
}
"""The cases of the golden files: the files of a workspace, what is found in it, and the files once it is fixed."""


@pytest.mark.parametrize("name", GOLDEN)
def test_findings_are_those_of_the_golden_file(tmp_path: Path, name: str) -> None:
    """`UPDATE_CASES=1 pytest tests/checks/test_checks.py` writes them."""
    file, part = GOLDEN[name]
    before, _, after = part.partition("=== finds\n")
    listed, fixed, right = after.partition("=== once it is fixed\n")
    findings = found(tmp_path / "wrong", files_of(before))
    told = "".join(
        f"{each.path}:{each.line}: {each.severity}: {each.message} [{each.id}]\n  {each.hint}\n" for each in findings
    )
    assert told == listed or os.environ.get("UPDATE_CASES")
    held_against(file, file.read_text(encoding="utf-8").replace(after, told + fixed + right))
    assert not fixed or found(tmp_path / "right", files_of(right)) == []


def test_every_check_has_a_case() -> None:
    assert {name.partition(":")[0] for name in GOLDEN} == {*CHECKS}


def test_a_sound_workspace_has_no_findings(tmp_path: Path) -> None:
    assert found(tmp_path, {}) == []


def test_every_agent_is_built_with_every_team(tmp_path: Path) -> None:
    files = {
        **{path.replace("/a/", "/b/"): text for path, text in SMALL.items()},
        "teams/x/GOALS.md": "Goal.\n",
        "teams/y/GOALS.md": "# G\n\n" + f"{'A line of words. ' * 100}\n\n" * 40,
    }
    (finding,) = found(tmp_path, files)
    assert (finding.id, finding.path) == ("cut", "teams/y/GOALS.md")
    assert "(for a/y, b/y)" in finding.hint
    (finding,) = found(tmp_path, files, agent="b")
    assert "(for b/y)" in finding.hint
    assert found(tmp_path, files, team="x") == []


def test_an_agent_that_lacks_a_file_does_not_keep_others_from_being_built(tmp_path: Path) -> None:
    files = {"agents/0/IDENTITY.md": "I am 0.\n", KNOWN: "# K\n\n" + "A line of words.\n\n" * 600}
    assert [each.id for each in found(tmp_path, files)] == ["required-file", "cut"]


def test_a_workspace_without_agents_is_told_how_to_make_one(tmp_path: Path) -> None:
    (finding,) = found(tmp_path, {}, base={})
    assert (finding.id, finding.severity) == ("config", "error")
    assert "ctxasm init" in finding.hint


def test_a_profile_that_reads_no_agent_is_built_once(tmp_path: Path) -> None:
    files = {"ctxasm.yaml": "date: 2025-03-14\nprofile: openclaw\nbudget: 140\n", "SOUL.md": f"{'word ' * 105}\u202e\n"}
    told = found(tmp_path, files)
    assert [(each.id, each.path) for each in told] == [("near-budget", "ctxasm.yaml"), ("hidden", "SOUL.md")]
    assert "for every build" in told[0].hint


def test_a_figure_is_never_part_of_what_a_finding_is_known_by(tmp_path: Path) -> None:
    (before,) = found(tmp_path, {KNOWN: "# K\n\n" + "A line of words.\n\n" * 600})
    (after,) = found(tmp_path, {KNOWN: "# K\n\nOne more.\n\n" + "A line of words.\n\n" * 700})
    assert before.fingerprint == after.fingerprint
    assert before.hint != after.hint


def test_row_88_bad_config_is_a_finding_and_its_exit_code_differs_from_a_build(tmp_path: Path) -> None:
    fill(tmp_path, {"ctxasm.yaml": "budget: [\n"})
    checked, built = inside("check", cwd=tmp_path), inside("build", cwd=tmp_path)
    assert (checked.code, built.code, built.out) == (1, 2, "")
    assert checked.out.startswith("ctxasm.yaml:2: error: not valid YAML")


@pytest.mark.parametrize("path", [KNOWN, LOG.format("2025-03-13"), "agents/a/IDENTITY.md"])
def test_row_89_a_link_that_leads_out_is_an_error(tmp_path: Path, path: str) -> None:
    (tmp_path / "out.md").write_text(f"{TOKEN}\n")
    file = fill(tmp_path / "in", DAY) / path
    file.parent.mkdir(exist_ok=True)
    file.unlink(missing_ok=True)
    file.symlink_to(tmp_path / "out.md")
    (finding,) = found(tmp_path / "in", {}, base={})
    assert (finding.id, finding.severity, finding.path) == ("unreadable", "error", path)
    assert "leads out of the workspace" in finding.message


def test_row_117_a_draft_or_an_old_log_makes_no_output_stale(tmp_path: Path) -> None:
    files = {"ctxasm.yaml": "date: 2025-03-14\noutputs:\n  - file: OUT.md\n    agent: a\n", "OUT.md": SMALL_TEXT}
    assert found(tmp_path, files) == []
    more = {MEMORY: "- [fact] Draft {status=draft}\n", LOG.format("2025-01-01"): "x\n"}
    assert found(tmp_path, {**files, **more}) == []
    assert [each.id for each in found(tmp_path, {**files, KNOWN: "Known.\n"})] == ["stale-output"]


def test_row_122_each_output_is_held_against_a_build_of_its_own(tmp_path: Path) -> None:
    fill(tmp_path, {**DAY, "agents/b b/x.md": ""})
    listed = (
        "outputs:\n  - {file: A.md, agent: a}\n  - {file: A.xml, agent: a, format: xml, budget: 1k, profile: p.yaml}\n"
    )
    files = {"ctxasm.yaml": f"date: 2025-03-14\n{listed}", "p.yaml": "extends: default\n"}
    stale = [each for each in found(tmp_path, files) if each.id == "stale-output"]
    assert [each.path for each in stale] == ["A.md", "A.xml"]
    for finding in stale:
        words = finding.hint.removeprefix("run `ctxasm ").removesuffix("`").split()
        assert inside(*words, cwd=tmp_path).code == 0
    assert [each.id for each in found(tmp_path, files)] == ["required-file"] * 2


@pytest.mark.parametrize("cwd", [".", "agents/a"])
def test_an_output_in_a_missing_folder_is_told_with_a_command_that_writes_it(tmp_path: Path, cwd: str) -> None:
    fill(tmp_path, {"ctxasm.yaml": "date: 2025-03-14\noutputs:\n  - {file: a b/c/O.md, agent: a}\n"})
    told = inside("check", "--format", "json", cwd=tmp_path / cwd)
    (finding,) = json.loads(told.out)["findings"]
    place, _, command = finding["hint"].partition("run ")
    assert place == ("" if cwd == "." else "in the workspace's folder, ")
    assert command.startswith("`mkdir -p 'a b/c' && ctxasm build ")
    words = shlex.split(command.strip("`").partition("&& ctxasm ")[2])
    (tmp_path / "a b/c").mkdir(parents=True)
    assert inside(*words, cwd=tmp_path).code == 0
    assert inside("check", cwd=tmp_path).code == 0


def _make_folder(path: Path) -> None:
    path.mkdir()


def _make_link_out(path: Path) -> None:
    path.symlink_to("/etc/hostname")


def _make_link_to_nowhere(path: Path) -> None:
    path.symlink_to("gone/O.md")


@pytest.mark.parametrize(
    ("file", "obstacle", "make", "hint"),
    [
        ("O.md", "O.md", _make_folder, "remove the folder, or name another file in ctxasm.yaml"),
        ("O.md", "O.md", _make_link_out, "remove the link, or name another file in ctxasm.yaml"),
        ("O.md", "O.md", _make_link_to_nowhere, "make its folder first"),
        ("out/O.md", "out", Path.touch, "replace out with a folder, or name another file in ctxasm.yaml"),
        ("out/O.md", "out", _make_link_to_nowhere, "replace out with a folder, or name another file in ctxasm.yaml"),
    ],
)
def test_an_output_that_no_build_can_write_is_told_what_helps(
    tmp_path: Path, file: str, obstacle: str, make: Callable[[Path], None], hint: str
) -> None:
    make(tmp_path / obstacle)
    (finding,) = found(tmp_path, {"ctxasm.yaml": f"date: 2025-03-14\noutputs:\n  - {{file: {file}, agent: a}}\n"})
    assert (finding.id, finding.path) == ("stale-output", file)
    assert hint in finding.hint
    assert "ctxasm build" not in finding.hint


def test_a_folder_that_is_a_file_of_a_layer_is_told_of(tmp_path: Path) -> None:
    (fill(tmp_path, DAY) / KNOWN).mkdir()
    (finding,) = found(tmp_path, {})
    assert (finding.id, finding.severity, finding.path) == ("unreadable", "warning", KNOWN)


def test_a_link_to_itself_is_no_matter_of_rights(tmp_path: Path) -> None:
    root = fill(tmp_path, {})
    (root / KNOWN).symlink_to(root / KNOWN)
    done = inside("check", "-w", root)
    assert f"{KNOWN}: warning: can't be read: Too many levels of symbolic links: replace it with a file" in done.out


def test_a_memory_file_with_a_hidden_character_in_its_name_is_one_finding(tmp_path: Path) -> None:
    root = fill(tmp_path, {"agents/a/memories/b\u202ed.md": "- [fact] One\n"})
    found = [line for line in inside("check", "-w", root).out.splitlines() if "hidden characters" in line]
    assert [line.partition(": has a name")[0] for line in found] == ["agents/a/memories/b\\u202ed.md: warning"]
    assert "rename it" in found[0]


def test_the_sample_has_no_warnings() -> None:
    result = inside("check", "-w", SAMPLE, "--strict")
    assert result.code == 0
    assert result.out.endswith("1 finding: 1 note\n")


def test_logs_that_give_way_at_their_own_limit_are_a_note(tmp_path: Path) -> None:
    long_log = "# L\n\n" + "\n\n".join(f"Line {n} of words that a log of this day holds." for n in range(400))
    files = {LOG.format("2025-03-13"): long_log}
    (finding,) = found(tmp_path, files)
    assert (finding.id, finding.severity) == ("cut", "note")
    (finding,) = found(tmp_path, {**files, "ctxasm.yaml": "date: 2025-03-14\nbudget: 2000\n"})
    assert (finding.id, finding.severity) == ("cut", "warning")


def test_what_was_typed_wrong_is_no_finding(tmp_path: Path) -> None:
    with pytest.raises(ContextasmError, match="unknown agent"):
        found(tmp_path, {}, agent="zz")


@pytest.mark.parametrize("check", CHECKS)
def test_the_manual_page_describes_every_check(check: str) -> None:
    page = (SAMPLE.parent / "man" / "ctxasm.1").read_text(encoding="utf-8")
    own = page.partition(".SH CHECKS\n")[2].partition(".SH ")[0].replace("\\-", "-")
    assert f".TP\n.B {check}\n" in own


def test_a_link_in_a_managed_block_is_checked_where_it_comes_from(tmp_path: Path) -> None:
    identity = "See [how](INSTRUCTIONS.md) and [that](GONE.md).\n"
    files = {"agents/a/IDENTITY.md": identity, "AGENTS.md": with_block("[x](NONE.md)\n", identity, "AGENTS.md")}
    assert [(each.path, each.line) for each in found(tmp_path, files)] == [
        ("AGENTS.md", 1),
        ("agents/a/IDENTITY.md", 1),
    ]


def test_a_sentence_at_the_end_of_a_long_paragraph_has_its_line(tmp_path: Path) -> None:
    sentences = [f"Number {n} of a list that nobody read." for n in range(30_000)]
    fill(tmp_path, {KNOWN: "\n".join([*sentences, TWICE]), MEMORY: f"- [fact] {TWICE}\n"})
    result = inside("check", "-f", "json", "-w", tmp_path)
    assert result.code == 0, result.err
    told = [each for each in json.loads(result.out)["findings"] if each["id"] == "duplicate"]
    assert [(each["path"], each["line"]) for each in told] == [(KNOWN, 30_001)]


def test_files_of_one_folder_are_one_finding(tmp_path: Path) -> None:
    (finding,) = found(tmp_path, {f"agents/a/daily/2025/2025-01-{day}.md": "x\n" for day in range(10, 30)})
    assert finding.path == "agents/a/daily/2025/2025-01-10.md"
    assert "This also applies to agents/a/daily/2025/2025-01-11.md" in finding.hint
    assert "and 16 more" in finding.hint


def test_names_are_those_of_the_profile_in_use(tmp_path: Path) -> None:
    base = {"SOUL.md": "Calm.\n", "USERS.md": "Me.\n", "agents/b/KNOWLEGDE.md": "K.\n", "agents/b/IDENTITY.md": "B.\n"}
    files = {"ctxasm.yaml": "date: 2025-03-14\nprofile: openclaw\n"}
    assert [(each.id, each.path) for each in found(tmp_path, files, base=base)] == [("file-name", "USERS.md")]
    output = "outputs:\n  - {file: OUT.md, agent: a, profile: default}\n"
    files = {"ctxasm.yaml": files["ctxasm.yaml"] + output, **SMALL}
    told = {(each.id, each.path) for each in found(tmp_path, files, base=base)}
    assert told >= {("file-name", "agents/b/KNOWLEGDE.md"), ("required-file", "agents/b/INSTRUCTIONS.md")}


PINNED = "docs/pinned.md"
"""A file that no layer reads."""


def test_a_pinned_file_without_room_is_told_once(tmp_path: Path) -> None:
    files = {"rules/r.yaml": f"- name: r\n  then: {{always_include: [{PINNED}]}}\n", PINNED: f"{TWICE}\n" * 900}
    (finding,) = found(tmp_path, files, budget="2000")
    assert (finding.id, finding.path) == ("build", PINNED)
    assert "has no room for all of it" in finding.message


def test_an_additional_text_and_an_open_file_have_no_part_in_a_crash(tmp_path: Path) -> None:
    files = {"docs/open.md": TWICE, "ctxasm.yaml": "date: 2025-03-14\nprofile: own.yaml\n"}
    layers = [
        {"id": "O", "heading": "Open", "source": "document", "path": "{open}"},
        {"id": "A", "heading": "More", "source": "additional"},
    ]
    files["own.yaml"] = json.dumps({"layers": layers})
    fill(tmp_path, files, base=SMALL)
    options = Options(workspace=str(tmp_path), open=("docs/open.md",), additional=TWICE)
    inspected = Inspection(options, ProcessEnvironment({"HOME": str(tmp_path)}, str(tmp_path), lambda: NOW))
    assert "docs/open.md" in inspected.documents
    assert "duplicate" not in {finding.id for finding in run_checks(inspected)}


def test_a_vault_of_notes_that_a_topic_shows_is_no_fault(tmp_path: Path) -> None:
    (tmp_path / ".obsidian").mkdir()
    empty = inside("check", "-w", tmp_path)
    assert "profile obsidian finds no file for any layer" in empty.out
    (tmp_path / "tea.md").write_text("# Tea\n\nGreen.\n", encoding="utf-8")
    assert inside("check", "-w", tmp_path).out == "no findings\n"
