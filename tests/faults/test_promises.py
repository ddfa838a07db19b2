"""Promises about hostile workspaces: cycles end, any bytes are read or named, names and dates are what they say."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextasm.workspace.folder import Folder
from tests.command import SMALL, SMALL_TEXT, ctxasm, fill, inside, refused

TODAY = ("--date", "2025-03-14")


def test_links_that_lead_to_a_folder_above_end(tmp_path: Path) -> None:
    """P14: a folder that holds itself is entered once."""
    fill(tmp_path, {"knowledge/page.md": "Text.\n"})
    (tmp_path / "knowledge/again").symlink_to("..")
    (tmp_path / "agents/a/memories").symlink_to("../a")
    assert Folder(tmp_path).list("knowledge/**/*.md") == ["knowledge/page.md"]
    for command in ("build", "check"):
        assert inside(command, "-a", "a", *TODAY, cwd=tmp_path).code in {0, 1}


@pytest.mark.parametrize("pattern", ["../*.md", "/etc/passwd", "a/../../x.md", "~/x.md"])
@pytest.mark.parametrize("where", ["layer", "rule"])
def test_paths_of_layers_and_rules_stay_inside(tmp_path: Path, where: str, pattern: str) -> None:
    """P12: refused, or nothing is found; never read."""
    root = fill(tmp_path / "w", {})
    (tmp_path / "x.md").write_text("SECRET")
    if where == "layer":
        profile = f"extends: default\nlayers:\n  - {{id: X, heading: X, source: document, path: '{pattern}'}}\n"
        done = inside("build", "-p", "./p.yaml", cwd=fill(root, {"p.yaml": profile}))
    else:
        rule = f"- name: r\n  when: []\n  then:\n    include: ['{pattern}']\n"
        done = inside("build", cwd=fill(root, {"rules/r.yaml": rule}))
    assert "SECRET" not in done.out + done.err
    assert "root:" not in done.out
    assert done.code in {0, 2}


def test_very_long_pattern_is_refused(tmp_path: Path) -> None:
    """P18: to compile it would take minutes."""
    profile = f"extends: default\nlayers:\n  - {{id: X, heading: X, source: document, path: '{'[a-' * 9000}'}}\n"
    refused(
        inside("build", "-p", "./p.yaml", cwd=fill(tmp_path, {"p.yaml": profile})), "the path has 27,000 characters"
    )


@given(st.binary(max_size=200), st.sampled_from(["KNOWLEDGE.md", "daily/2025-03-14.md", "memories/m.md"]))
def test_any_bytes_are_text_or_a_named_file(data: bytes, name: str) -> None:
    """P16: the document is UTF-8, and a file that is no text costs itself."""
    with TemporaryDirectory() as folder:
        done = inside("build", *TODAY, cwd=fill(Path(folder), {f"agents/a/{name}": data}))
        assert done.code == 0
        assert done.out.startswith(SMALL_TEXT.rstrip("\n"))
        try:
            data.decode("utf-16" if data[:2] in {b"\xff\xfe", b"\xfe\xff"} else "utf-8")
        except UnicodeDecodeError:
            assert f"agents/a/{name}: " in done.err
            assert done.out == SMALL_TEXT


@given(st.binary(max_size=200))
def test_any_bytes_of_settings_are_settings_or_one_error(data: bytes) -> None:
    """P17, P29: with the file, code 2, and nothing on standard output."""
    with TemporaryDirectory() as folder:
        done = inside("build", "-a", "a", *TODAY, cwd=fill(Path(folder), {"ctxasm.yaml": data}))
    if done.code:
        refused(done, "ctxasm.yaml")


DATES = ("2025-02-30", "0000-00-00", "9999-12-31", "20250314", "2025-W11-5", "２０２５-03-14", "2025-03-14T25:00", "")


@pytest.mark.parametrize("day", DATES)
def test_impossible_dates_stop_no_build(tmp_path: Path, day: str) -> None:
    """P19: of a log, of a memory, of an event and in front matter."""
    files = {
        "agents/a/memories/m.md": f"- [fact] One. {{created={day}}}\n- [fact] Two. {{accessed={day} expires={day}}}\n",
        "agents/a/memories/n.md": f"---\ntype: fact\ncreated: {day}\n---\nThree.\n",
        **({f"agents/a/daily/{day}.md": "Four.\n"} if day else {}),
    }
    for command in ("build", "explain"):
        assert inside(command, *TODAY, cwd=fill(tmp_path, files)).code == 0
    assert inside("build", "--date", "0001-01-01", cwd=tmp_path).code in {0, 2}


def test_look_alike_names_are_other_names(tmp_path: Path) -> None:
    """P23: another script, another case, another normal form."""
    names = {"ana": "Latin.", "аna": "Cyrillic.", "café": "composed", "cafe\u0301": "decomposed"}
    files = {f"agents/{name}/{file}.md": text for name, text in names.items() for file in ("IDENTITY", "INSTRUCTIONS")}
    root = fill(tmp_path, files, base={})
    found = len(os.listdir(root / "agents"))
    if found < len(names):
        pytest.skip("this disk takes two of the names for one")
    for name, text in names.items():
        done = inside("build", "-q", "-a", name, cwd=root)
        if name == "cafe\u0301":  # a mark is no letter, so this is no name at all
            refused(done, "can't be a name")
        else:
            assert done.out == f"## Identity\n{text}\n\n## Instructions\n{text}\n"
    refused(inside("build", "-a", "ANA", cwd=root), "unknown agent `ANA`")


def test_large_files_of_every_kind_are_built(tmp_path: Path) -> None:
    """P15: a smaller one of each; benchmarks/sizes.py has the large ones."""
    files = {
        "agents/a/KNOWLEDGE.md": "word " * 200_000,
        "agents/a/memories/m.md": "".join(f"- [fact] Memory {n}.\n" for n in range(2_000)),
        "agents/a/daily/2025-03-14.md": "x" * 1_000_000 + "\n- entry\n" * 50_000,
        **{f"agents/a/daily/{1900 + n // 12:04}-{n % 12 + 1:02}-01.md": "Old.\n" for n in range(1_200)},
    }
    done = inside("build", *TODAY, cwd=fill(tmp_path, files))
    assert done.code == 0
    assert len(done.out) < 200_000
    assert done.err.count("\n") < 20


@pytest.mark.parametrize("command", ["build", "explain", "plan", "check", "search x", "rules", "config", "show x"])
def test_every_command_tells_a_broken_workspace_in_one_line(tmp_path: Path, command: str) -> None:
    """P29: code 2, or 1 where the command reports findings; no traceback."""
    fill(tmp_path, {"ctxasm.yaml": "budget: [\n", "rules/r.yaml": "}\n"})
    done = ctxasm(*command.split(), cwd=tmp_path)
    assert done.code in {1, 2}
    assert "Traceback" not in done.err
    assert "bug" not in done.err
    assert len(done.err.splitlines()) <= 1


def test_smallest_workspace_is_what_these_tests_start_from(tmp_path: Path) -> None:
    assert inside("build", *TODAY, cwd=fill(tmp_path, SMALL)).out == SMALL_TEXT
