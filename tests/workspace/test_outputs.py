"""Outputs of a build: what may be written, what is refused, and that all is settled before the first byte."""

from __future__ import annotations

import json
import os
import re
from hashlib import sha256
from pathlib import Path

import pytest

from tests.command import SMALL_TEXT, Result, fill, inside, refused

OPENCLAW = {
    "ctxasm.yaml": "",
    "SOUL.md": "Be bold.\n",
    "IDENTITY.md": "I am C.\n",
    "AGENTS.md": "# Rules\n\nAbove.\n\nBelow.\n",
}
ETAG = sha256(SMALL_TEXT.encode()).hexdigest()
BASELINE = '{"schema": "ctxasm.baseline/1", "findings": []}\n'


def build(folder: Path, *words: str | Path) -> Result:
    """Run a build in a workspace without its receipt."""
    return inside("build", "-q", *words, cwd=folder)


@pytest.mark.parametrize(
    ("files", "words", "path"),
    [
        ({"ctxasm.yaml": "budget: 900\n"}, ("-o", "ctxasm.yaml"), "ctxasm.yaml"),
        ({"mine.yaml": "extends: default\n"}, ("-p", "./mine.yaml", "-o", "mine.yaml"), "mine.yaml"),
        (
            {"mine.yaml": "extends: base.yaml\n", "base.yaml": "extends: default\n"},
            ("-p", "./mine.yaml", "-o", "base.yaml"),
            "base.yaml",
        ),
        ({"rules/a.yaml": "[]\n"}, ("-o", "rules/a.yaml"), "rules/a.yaml"),
        ({"agents/a/KNOWLEDGE.md": b"caf\xe9"}, ("-o", "agents/a/KNOWLEDGE.md"), "agents/a/KNOWLEDGE.md"),
        (
            {"agents/a/daily/2020-01-01.md": "x\n"},
            ("-o", "agents/a/daily/2020-01-01.md"),
            "agents/a/daily/2020-01-01.md",
        ),
        ({}, ("--manifest", "agents/a/IDENTITY.md"), "agents/a/IDENTITY.md"),
        ({"agents/b/IDENTITY.md": "b\n"}, ("-a", "a", "-o", "agents/b/IDENTITY.md"), "agents/b/IDENTITY.md"),
        ({"teams/t/GOALS.md": "g\n"}, ("--scope", "L3", "-o", "teams/t/GOALS.md"), "teams/t/GOALS.md"),
        ({"tasks.yaml": "tasks: []\n"}, ("-o", "tasks.yaml", "-p", "query"), "tasks.yaml"),
    ],
    ids=["settings", "profile", "extended", "rules", "encoding", "old log", "manifest", "agent", "scope", "tasks"],
)
def test_bug_1_no_input_is_replaced_whether_it_was_opened_or_not(
    tmp_path: Path, files: dict[str, str | bytes], words: tuple[str, ...], path: str
) -> None:
    fill(tmp_path, files)
    before = (tmp_path / path).read_bytes()
    refused(build(tmp_path, *words), path)
    assert (tmp_path / path).read_bytes() == before


def test_bug_1_indexed_pool_is_not_replaced_by_the_second_build(tmp_path: Path) -> None:
    path = "agents/a/memories/many.md"
    text = "".join(f"- [fact] Fact number {n}\n" for n in range(1200))
    fill(tmp_path, {path: text})
    build(tmp_path, "--topic", "fact")
    refused(build(tmp_path, "--topic", "fact", "-o", path), path)
    assert (tmp_path / path).read_text() == text


@pytest.mark.parametrize("path", ["agents/a/KNOWLEDGE.md", "agents/a/memories/new.md", "rules/new.yaml"])
def test_bug_1_file_that_a_build_would_read_is_not_made(tmp_path: Path, path: str) -> None:
    fill(tmp_path, {"agents/a/memories/x.md": "", "rules/a.yaml": "[]\n"})
    refused(build(tmp_path, "-o", path), path)
    assert not (tmp_path / path).exists()


@pytest.mark.parametrize("option", ["-o", "--manifest"])
def test_bug_1_links_and_spellings_of_an_input_are_refused(tmp_path: Path, option: str) -> None:
    root = fill(tmp_path / "ws", {})
    (tmp_path / "link.md").symlink_to(root / "agents/a/IDENTITY.md")
    os.link(root / "agents/a/IDENTITY.md", tmp_path / "hard.md")
    (tmp_path / "people").symlink_to(root / "agents")
    for name in ("../link.md", "../hard.md", "./agents/./a/IDENTITY.md", "../people/a/IDENTITY.md"):
        refused(build(root, option, name), name.rpartition("/")[2], "made of this file")
    refused(build(root, option, "../people/a/KNOWLEDGE.md"), "KNOWLEDGE.md")
    assert not (root / "agents/a/KNOWLEDGE.md").exists()


def test_bug_1_link_inside_the_workspace_protects_its_target(tmp_path: Path) -> None:
    fill(tmp_path, {"shared/k.md": "K\n"})
    (tmp_path / "agents/a/KNOWLEDGE.md").symlink_to("../../shared/k.md")
    refused(build(tmp_path, "-o", "shared/k.md"), "shared/k.md", "L7")


def test_bug_1_case_does_not_hide_an_input_where_the_disk_ignores_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("contextasm.workspace.outputs._ignores_case", lambda _folder: True)
    refused(build(fill(tmp_path, {}), "-o", "agents/a/knowledge.md"), "agents/a/knowledge.md")


@pytest.mark.parametrize(
    "words",
    [
        ("-o", "OUT.md", "--manifest", "OUT.md"),
        ("-o", "OUT.md", "--manifest", "./OUT.md"),
        ("-o", "OUT.md", "--into", "LINK.md"),
        ("--into", "A.md", "--manifest", "A.md"),
    ],
)
def test_bug_1_two_outputs_that_are_one_file_are_refused(tmp_path: Path, words: tuple[str, ...]) -> None:
    fill(tmp_path, {"A.md": "mine\n"})
    (tmp_path / "LINK.md").symlink_to("OUT.md")
    refused(build(tmp_path, *words), "name two files")
    assert not (tmp_path / "OUT.md").exists()
    assert (tmp_path / "A.md").read_text() == "mine\n"


def test_outputs_of_other_builds_are_no_manifest(tmp_path: Path) -> None:
    fill(tmp_path, {**OPENCLAW, "ctxasm.yaml": "outputs:\n  - {file: OUT.md}\n  - {file: C.md, profile: openclaw}\n"})
    assert build(tmp_path, "-o", "OUT.md").code == 0
    refused(build(tmp_path, "--manifest", "OUT.md"), "output of a build")
    refused(build(tmp_path, "-o", "AGENTS.md"), "AGENTS.md", "layer agents")


@pytest.mark.parametrize("words", [("-o", ".git/HEAD"), ("--into", ".git/new.md"), ("--manifest", "../.git/config")])
def test_what_git_stores_is_no_output(tmp_path: Path, words: tuple[str, str]) -> None:
    own = fill(tmp_path / "w", {".git/HEAD": "ref: refs/heads/main\n"})
    fill(tmp_path, {".git/config": "[core]\n"}, base={})
    refused(build(own, *words), "git stores data of its own here")
    assert (own / ".git/HEAD").read_text() == "ref: refs/heads/main\n"
    assert not (own / ".git/new.md").exists()


def test_row_122_one_missing_folder_writes_nothing(tmp_path: Path) -> None:
    fill(tmp_path, {})
    for words in (("--into", "A.md", "--into", "no/B.md"), ("-o", "A.md", "--manifest", "no/m.json", "--record")):
        refused(build(tmp_path, *words), "no/", "make its folder first")
        assert not (tmp_path / "A.md").exists()
        assert not (tmp_path / ".ctxasm").exists()


def test_edited_block_leaves_no_record(tmp_path: Path) -> None:
    fill(tmp_path, {})
    build(tmp_path, "--into", "A.md")
    (tmp_path / "A.md").write_text((tmp_path / "A.md").read_text().replace("I am a.", "Mine."))
    refused(build(tmp_path, "--into", "A.md", "--record"), "edited by hand", code=1)
    assert not (tmp_path / ".ctxasm/records").exists()


def test_row_116_same_etag_writes_a_file_that_is_missing(tmp_path: Path) -> None:
    fill(tmp_path, {})
    assert build(tmp_path, "--if-none-match", ETAG, "-o", "OUT.md").code == 0
    assert (tmp_path / "OUT.md").read_text() == SMALL_TEXT
    assert build(tmp_path, "--if-none-match", ETAG, "-o", "OUT.md").code == 3
    (tmp_path / "A.md").write_text("no block\n")
    assert build(tmp_path, "--if-none-match", ETAG, "--into", "A.md").code == 0
    assert build(tmp_path, "--if-none-match", ETAG, "--into", "A.md").code == 3


def test_row_116_verbose_prints_the_etag(tmp_path: Path) -> None:
    assert f"etag: {ETAG}\n" in inside("build", "-v", cwd=fill(tmp_path, {})).err


def test_manifest_on_standard_output(tmp_path: Path) -> None:
    fill(tmp_path, {})
    assert json.loads(build(tmp_path, "-o", "OUT.md", "--manifest", "-").out)["etag"] == ETAG
    refused(build(tmp_path, "--manifest", "-"), "--manifest", "standard output")
    refused(build(tmp_path, "-o", "-", "--manifest", "-"), "--manifest", "standard output")
    assert not (tmp_path / "-").exists()


@pytest.mark.parametrize(
    "words", [("-o", ""), ("--into", ""), ("--manifest", ""), ("-o", "OUT.md", "--manifest", ""), ("--into", "-")]
)
def test_empty_name_and_dash_are_no_file(tmp_path: Path, words: tuple[str, ...]) -> None:
    refused(build(fill(tmp_path, {}), *words), "name a file" if words[-1] else "is empty")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["agents"]


def test_full_device_has_no_old_content(tmp_path: Path) -> None:
    result = build(fill(tmp_path, {}), "-o", "/dev/full")
    refused(result, "/dev/full", "free some space")
    assert "old content" not in result.err


# --- Managed blocks in inputs ----------------------------------------------------------------------------------------


def openclaw(folder: Path, *words: str | Path) -> Result:
    """Build an OpenClaw workspace without the receipt."""
    return build(folder, "-p", "openclaw", *words)


def test_block_goes_into_a_file_that_the_profile_reads(tmp_path: Path) -> None:
    fill(tmp_path, OPENCLAW, base={})
    before = openclaw(tmp_path).out
    assert openclaw(tmp_path, "--into", "AGENTS.md").code == 0
    text = (tmp_path / "AGENTS.md").read_text()
    assert before in text
    assert openclaw(tmp_path).out == before
    assert inside("build", "-p", "openclaw", "--into", "AGENTS.md", cwd=tmp_path).err.endswith("AGENTS.md: unchanged\n")


def test_lines_around_a_block_keep_their_numbers(tmp_path: Path) -> None:
    fill(tmp_path, OPENCLAW, base={})
    openclaw(tmp_path, "--into", "AGENTS.md")
    block = (tmp_path / "AGENTS.md").read_text().split("Below.\n\n")[1]
    (tmp_path / "AGENTS.md").write_text(f"# Rules\n\nAbove.\n\n{block}\nBelow.\n")
    out = openclaw(tmp_path).out
    assert "# Rules\n\nAbove.\n\n\nBelow.\n" in out
    lines = (tmp_path / "AGENTS.md").read_text().splitlines()
    for number, line in enumerate(lines, 1):
        trace = inside("explain", "-p", "openclaw", "--line", f"AGENTS.md:{number}", cwd=tmp_path).out
        if number in range(5, 5 + block.count("\n")):
            assert trace.startswith("out agents ctxasm wrote this managed block"), (number, trace)
        elif line:
            assert trace.startswith("in agents "), (number, trace)


def test_length_of_a_block_changes_no_context(tmp_path: Path) -> None:
    text = "# Rules\n\n{}\n" + "".join(f"- rule {n} is one of many rules\n" for n in range(200))
    digest = "0123456789abcdef"
    outs = set()
    for rows in (0, 1, 400):
        block = f"<!-- ctxasm:begin {digest} -->\n" + "row\n" * rows + f"<!-- ctxasm:end {digest} -->\n"
        fill(tmp_path, {**OPENCLAW, "AGENTS.md": text.format(block)}, base={})
        outs.add(re.sub(r"AGENTS\.md:\d+", "AGENTS.md", openclaw(tmp_path, "-b", "503").out))
    assert len(outs) == 1
    assert "row\n" not in outs.pop()


def test_block_is_refused_where_it_would_break_the_format(tmp_path: Path) -> None:
    fill(tmp_path, {"rules/a.yaml": "[]\n", "agents/a/memories/m.md": "- [fact] x\n", "ctxasm.yaml": ""})
    for path in ("ctxasm.yaml", "rules/a.yaml", "agents/a/memories/m.md"):
        refused(build(tmp_path, "--into", path), path)


# --- Baselines -------------------------------------------------------------------------------------------------------


def test_bug_18_number_of_many_digits_in_a_baseline_is_refused(tmp_path: Path) -> None:
    fill(tmp_path, {"b.json": f'{{"schema": "ctxasm.baseline/1", "findings": [{"9" * 5000}]}}'})
    refused(inside("check", "--baseline", "b.json", cwd=tmp_path), "b.json", "number")
    assert inside("check", "--baseline", "b.json", "--update-baseline", cwd=tmp_path).code == 0
    assert json.loads((tmp_path / "b.json").read_text())["findings"] == []


def test_numbers_of_many_digits_are_no_crash_elsewhere(tmp_path: Path) -> None:
    digits = "9" * 5000
    profile = "extends: default\nlayers:\n  - {id: T, source: tools, heading: Tools, path: 'tools/*.json'}\n"
    fill(tmp_path, {"p.yaml": profile, "tools/t.json": digits})
    result = inside("build", "-p", "./p.yaml", cwd=tmp_path)
    assert (result.code, "tools/t.json: holds a number that is too long" in result.err) == (0, True)
    refused(build(tmp_path, "--deadline", digits), "--deadline")
    refused(inside("explain", "--line", f"agents/a/IDENTITY.md:{digits}", cwd=tmp_path), "IDENTITY.md")


@pytest.mark.parametrize("path", ["agents/a/IDENTITY.md", "NOTES.txt", "ctxasm.yaml", "PROJECT.md", "knowledge/k.md"])
def test_bug_18_update_replaces_nothing_but_a_baseline(tmp_path: Path, path: str) -> None:
    fill(tmp_path, {"NOTES.txt": "mine\n", "ctxasm.yaml": "date: 2025-03-14\n", "knowledge/k.md": "", "PROJECT.md": ""})
    before = (tmp_path / path).read_bytes()
    refused(inside("check", "--baseline", path, "--update-baseline", cwd=tmp_path), path)
    assert (tmp_path / path).read_bytes() == before


@pytest.mark.parametrize("text", ["", BASELINE, f"<<<<<<< ours\n{BASELINE}"], ids=["empty", "sound", "conflict"])
def test_baseline_itself_is_replaced(tmp_path: Path, text: str) -> None:
    fill(tmp_path, {"b.json": text})
    assert inside("check", "--baseline", "b.json", "--update-baseline", cwd=tmp_path).code == 0
    assert json.loads((tmp_path / "b.json").read_text())["schema"] == "ctxasm.baseline/1"


@pytest.mark.parametrize("name", ["", "-"])
def test_baseline_has_to_be_a_file(tmp_path: Path, name: str) -> None:
    refused(inside("check", "--baseline", name, cwd=fill(tmp_path, {})), "--baseline")


def test_outputs_that_are_inputs_or_one_file_are_findings(tmp_path: Path) -> None:
    outputs = "  - file: agents/a/IDENTITY.md\n  - file: OUT.md\n  - file: LINK.md\n"
    fill(tmp_path, {"ctxasm.yaml": f"date: 2025-03-14\noutputs:\n{outputs}", "OUT.md": SMALL_TEXT})
    (tmp_path / "LINK.md").symlink_to("OUT.md")
    result = inside("check", cwd=tmp_path)
    assert "ctxasm.yaml:3: error: agents/a/IDENTITY.md can't be an output: a context is made of this file" in result.out
    assert "ctxasm.yaml:5: error: LINK.md can't be an output: it is the same file as OUT.md" in result.out
    assert result.out.endswith("2 findings: 2 errors\n")


@pytest.mark.parametrize("name", ["CONTEXT.md", "out/CONTEXT.md"])
@pytest.mark.parametrize("exists", [True, False])
def test_link_in_the_workspace_does_not_lead_an_output_out_of_it(tmp_path: Path, name: str, *, exists: bool) -> None:
    root = fill(tmp_path / "w", {})
    other = tmp_path / "other"
    other.mkdir()
    if exists:
        (other / "CONTEXT.md").write_text("mine\n")
    link = root / name.split("/", maxsplit=1)[0]
    link.symlink_to(other if "/" in name else other / "CONTEXT.md")
    for option in ("-o", "--into", "--manifest"):
        refused(inside("build", option, name, cwd=root), "leads out of it", str(other))
    assert [path.read_text() for path in other.iterdir()] == (["mine\n"] if exists else [])
    assert inside("build", "-o", other / "CONTEXT.md", cwd=root).code == 0
    assert "I am a." in (other / "CONTEXT.md").read_text()


def test_outputs_of_the_settings_are_written_by_no_command(tmp_path: Path) -> None:
    root = fill(tmp_path, {"ctxasm.yaml": "outputs:\n  - {file: CONTEXT.md, agent: a}\n"})
    for words in (("build",), ("check",), ("explain",), ("config",)):
        inside(*words, cwd=root)
    assert not (root / "CONTEXT.md").exists()
