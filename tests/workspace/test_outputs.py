"""Outputs of a build: what may be written, what is refused, and that all is settled before the first byte."""

from __future__ import annotations

import json
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


def test_outputs_of_the_settings_are_written_by_no_command(tmp_path: Path) -> None:
    root = fill(tmp_path, {"ctxasm.yaml": "outputs:\n  - {file: CONTEXT.md, agent: a}\n"})
    for words in (("build",), ("check",), ("explain",), ("config",)):
        inside(*words, cwd=root)
    assert not (root / "CONTEXT.md").exists()
