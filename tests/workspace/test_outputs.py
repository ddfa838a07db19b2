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


def build(folder: Path, *words: str | Path) -> Result:
    """Run a build in a workspace without its receipt."""
    return inside("build", "-q", *words, cwd=folder)


def test_bug_1_indexed_pool_is_not_replaced_by_the_second_build(tmp_path: Path) -> None:
    path = "agents/a/memories/many.md"
    text = "".join(f"- [fact] Fact number {n}\n" for n in range(1200))
    fill(tmp_path, {path: text})
    build(tmp_path, "--topic", "fact")
    refused(build(tmp_path, "--topic", "fact", "-o", path), path)
    assert (tmp_path / path).read_text() == text


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


def test_bug_1_case_does_not_hide_an_input_where_the_disk_ignores_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("contextasm.workspace.outputs._ignores_case", lambda _folder: True)
    refused(build(fill(tmp_path, {}), "-o", "agents/a/knowledge.md"), "agents/a/knowledge.md")


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


# --- Managed blocks in inputs ----------------------------------------------------------------------------------------


def openclaw(folder: Path, *words: str | Path) -> Result:
    """Build an OpenClaw workspace without the receipt."""
    return build(folder, "-p", "openclaw", *words)


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
