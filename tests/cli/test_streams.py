"""Standard output is the document and nothing else; all talk is on standard error."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from contextasm.workspace import reads as writing
from tests.command import COMMAND, LUNA, SMALL_TEXT, clean, ctxasm, fill, inside, on_terminal


def test_standard_output_holds_just_the_document(tmp_path: Path) -> None:
    """Row 124: whatever is told, and even of problems, goes to standard error."""
    fill(tmp_path, {"agents/a/daily/nonsense.md": "x\n", "agents/a/KNOWLEDGE.md": b"\xff"})
    plain = ctxasm("build", cwd=tmp_path)
    talking = ctxasm("build", "-v", "--explain", cwd=tmp_path)
    assert plain.out == talking.out == SMALL_TEXT
    assert plain.err.count("ctxasm: warning: ") == 2
    assert len(talking.err) > len(plain.err)


def test_receipt_is_the_last_line_on_standard_error() -> None:
    err = inside("build", *LUNA).err
    assert err.count("\n") == 1
    assert " of 16,000 tokens (estimate), headings included: L1=475 " in err
    assert " excluded" in err


@pytest.mark.parametrize("tokenizer", ["estimate", "o200k_base"])
@pytest.mark.parametrize("budget", ["16000", "4000", "1200", "700"])
def test_parts_of_the_receipt_add_up_to_its_total(tokenizer: str, budget: str) -> None:
    receipt = inside("build", *LUNA, "-b", budget, "--tokenizer", tokenizer).err.splitlines()[-1]
    parts = re.findall(r"(?:L\d|joints)=(-?[\d,]+)", receipt)
    assert sum(int(part.replace(",", "")) for part in parts) == int(receipt.partition(" of ")[0].replace(",", ""))


def test_sections_of_a_verbose_build_add_up_to_the_receipt() -> None:
    err = inside("build", "-v", *LUNA).err
    table = re.findall(r"^(L\d)  .*?[a-z] +([\d,]+)(?:  cut)?$", err, re.MULTILINE)
    sums: dict[str, int] = {}
    for layer, tokens in table:
        sums[layer] = sums.get(layer, 0) + int(tokens.replace(",", ""))
    parts = re.findall(r"(L\d)=([\d,]+)", err)
    assert sums == {layer: int(tokens.replace(",", "")) for layer, tokens in parts}
    assert len(table) > len(sums) > 1


def test_receipt_tells_that_nothing_matches_the_topic(tmp_path: Path) -> None:
    fill(tmp_path, {"agents/a/memories/m.md": "- [fact] The tide turns\n"})
    assert "; nothing matches the topic in L5" in inside("build", "--topic", "zzz qqq", cwd=tmp_path).err
    assert "matches the topic" not in inside("build", "--topic", "tide", cwd=tmp_path).err


def test_receipt_counts_shortened_as_truncated(tmp_path: Path) -> None:
    layers = "layers: [{id: L5, max_tokens: 30, overflow: detail}]\n"
    memory = "- [fact] First sentence. " + "More of it that is long. " * 8 + "\n"
    fill(tmp_path, {"ctxasm.yaml": layers, "agents/a/memories/m.md": memory})
    assert "; 1 truncated, 1 of them shortened (agents/a/memories/m.md)\n" in inside("build", cwd=tmp_path).err


def test_verbose_build_tells_the_etag(tmp_path: Path) -> None:
    fill(tmp_path, {})
    err = inside("build", "-v", cwd=tmp_path).err
    etag = next(line.split()[1] for line in err.splitlines() if line.startswith("etag: "))
    assert inside("build", "-q", "--if-none-match", etag, cwd=tmp_path).code == 3


def test_quiet_build_tells_nothing(tmp_path: Path) -> None:
    fill(tmp_path, {"agents/a/daily/nonsense.md": "x\n"})
    assert inside("build", "-q", cwd=tmp_path) == (0, SMALL_TEXT, "")
    assert inside("build", "-q", "-v", "--explain", cwd=tmp_path) == (0, SMALL_TEXT, "")
    assert inside("build", "-q", "-o", tmp_path / "out.md", cwd=tmp_path) == (0, "", "")


def test_quiet_build_still_tells_of_errors(tmp_path: Path) -> None:
    assert "ctxasm: error: " in inside("build", "-q", "-a", "b", cwd=fill(tmp_path, {})).err


def test_verbose_build_tells_settings_sections_and_times() -> None:
    err = inside("build", *LUNA, "-v").err
    assert "luna (--agent)" in err
    assert "2025-03-14 (ctxasm.yaml:" in err
    assert "Recent Activity" in err
    steps = ", ".join(f"{step} [0-9.]+" for step in ("retrieve", "rules", "rank", "select", "render", "report"))
    assert re.search(rf"\n\d+ ms, of which {steps}\n$", err)


def test_figures_of_an_assembly_as_source_001_reports_them(tmp_path: Path) -> None:
    texts = {"graph/entities.yaml": "".join(f"- {{name: Pier {number}}}\n" for number in range(30))}
    folder = fill(tmp_path, {"ctxasm.yaml": "profile: query\n", **texts})
    words = (
        "build",
        "-w",
        folder,
        "--topic",
        "Pier 7",
        "--strategy",
        "coding",
        "-f",
        "json",
        "--manifest",
        "m.json",
        "-v",
    )
    result = inside(*words, cwd=tmp_path)
    manifest, context = json.loads((tmp_path / "m.json").read_text()), json.loads(result.out)
    for layers in (manifest["layers"], context["allowances"]):
        assert [(each["considered"], each["kept"]) for each in layers if each["layer"] == "entities"] == [(30, 11)]
    assert manifest["strategy"] == context["request"]["strategy"] == "coding"
    assert re.search(r"\nstrategy +coding \(--strategy\)\n", result.err)
    assert re.search(r"\nentities +30 +11\n", result.err)
    assert "ms" not in json.dumps([manifest["layers"], context["allowances"]])


def test_explain_is_on_standard_error_while_building() -> None:
    plain, explained = inside("build", *LUNA), inside("build", *LUNA, "--explain")
    assert explained.out == plain.out
    assert explained.err.startswith("layer  outcome")
    assert "agents/luna/IDENTITY.md:1" in explained.err


@pytest.mark.parametrize(
    "words",
    [("build",), ("build", "-f", "json"), ("explain",), ("explain", "--json"), ("plan",), ("config", "--origin")],
)
def test_pipes_get_no_colour_and_no_carriage_return(words: tuple[str, ...]) -> None:
    result = inside(*words, *LUNA, env={"FORCE_COLOR": "1", "CLICOLOR_FORCE": "1", "TERM": "xterm-256color"})
    assert result.code == 0
    assert "\x1b" not in result.out + result.err
    assert "\r" not in result.out


def test_document_on_a_terminal_is_the_same() -> None:
    assert on_terminal("build", "-q", *LUNA) == inside("build", "-q", *LUNA).out


@pytest.mark.parametrize("env", [{}, {"PYTHONUNBUFFERED": "1"}], ids=["buffered", "unbuffered"])
@pytest.mark.parametrize("form", ["markdown", "json"])
def test_slow_reader_of_a_non_blocking_pipe_gets_every_byte(tmp_path: Path, env: Mapping[str, str], form: str) -> None:
    fill(tmp_path, {"agents/a/IDENTITY.md": "A line that is in the way.\n" * 20_000})
    reading, writing_end = os.pipe()
    os.set_blocking(writing_end, False)
    process = subprocess.Popen(
        [*COMMAND, "build", "-q", "-f", form],
        cwd=tmp_path,
        env=clean(env),
        stdin=subprocess.DEVNULL,
        stdout=writing_end,
        stderr=subprocess.PIPE,
    )
    os.close(writing_end)
    time.sleep(0.5)  # it fills the pipe and has to wait
    received = bytearray()
    while data := os.read(reading, 3000):
        received += data
    os.close(reading)
    assert process.communicate(timeout=30)[1] == b""
    assert process.returncode == 0
    assert received.decode() == inside("build", "-q", "-f", form, cwd=tmp_path).out


def test_writing_goes_on_after_a_part_and_after_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing_end = os.pipe()
    write, calls = os.write, 0

    def sparing(handle: int, data: bytes) -> int:
        nonlocal calls
        calls += 1
        if calls % 2:
            raise BlockingIOError
        return write(handle, data[:3])

    monkeypatch.setattr(os, "write", sparing)
    writing.emit(writing_end, b"ten letters")
    os.close(writing_end)
    assert os.read(reading, 100) == b"ten letters"
    os.close(reading)


@pytest.mark.parametrize("locale", ["C", "nonsense"])
def test_text_of_any_script_is_written_as_utf_8(tmp_path: Path, locale: str) -> None:
    env = {"LC_ALL": locale, "LANG": locale}
    fill(tmp_path, {"agents/ウレン/IDENTITY.md": "私は ä.\n", "agents/ウレン/INSTRUCTIONS.md": "☂\n"}, base={})
    fill(tmp_path, {"agents/ウレン/daily/今日.md": "x\n"}, base={})
    result = ctxasm("build", "-v", "--explain", cwd=tmp_path, env=env)
    assert (result.code, result.out) == (0, "## Identity\n私は ä.\n\n## Instructions\n☂\n"), result.err
    for words in (("explain",), ("config",), ("explain", "--json"), ("plan",)):
        result = ctxasm(*words, cwd=tmp_path, env=env)
        assert result.code == 0, result.err
        assert "Traceback" not in result.err
        assert "bug" not in result.err


@pytest.mark.parametrize(
    ("folder", "words"),
    [
        ("memories", ("build",)),
        ("memories", ("explain",)),
        ("daily", ("build",)),
        ("daily", ("build", "-f", "json")),
        ("daily", ("build", "--manifest", "/dev/null")),
        ("daily", ("explain",)),
        ("daily", ("explain", "--json")),
        ("other", ("build", "-p", "./p.yaml")),
    ],
)
@pytest.mark.skipif(sys.platform == "darwin", reason="this system refuses such a name")
def test_file_name_that_is_no_utf_8_is_no_bug(tmp_path: Path, folder: str, words: tuple[str, ...]) -> None:
    layer = "{id: L8, heading: Other, source: document, path: 'agents/{agent}/other/*.md'"
    limits = "overflow: truncate, max_tokens: 40}"
    fill(tmp_path, {"p.yaml": f"extends: default\nmarker: detailed\nlayers: [{layer}, {limits}]\n"})
    path = os.fsencode(tmp_path / f"agents/a/{folder}/2025-03-14-") + b"caf\xe9.md"
    os.mkdir(os.path.dirname(path))
    with open(path, "wb") as file:
        file.write(b"- A line that has to be cut, for it is long enough.\n" * 20)
    result = inside(*words, "--date", "2025-03-14", cwd=tmp_path)
    assert result.code == 0, result.err
    assert "Traceback" not in result.err


@pytest.mark.parametrize("words", [("explain",), ("plan",), ("config",)])
def test_tables_are_drawn_on_a_terminal_and_plain_in_a_pipe(words: tuple[str, ...]) -> None:
    lines = inside(*words, *LUNA).out.split("\n")
    assert lines[0].split()[0] in {"layer", "setting"}
    assert not [line for line in lines if line != line.rstrip() or "─" in line]


@pytest.mark.parametrize(
    "words",
    [("plan", *LUNA, "--json"), ("config", *LUNA, "--json"), ("profiles", "--json"), ("tokenizers", "--json")],
    ids=lambda words: words[0],
)
def test_json_of_a_command_is_json(words: tuple[str, ...]) -> None:
    result = inside(*words)
    assert result.code == 0
    assert json.loads(result.out)
    assert result.out.endswith("\n")
    assert not result.out.endswith("\n\n")


def test_of_warnings_of_one_kind_five_are_shown(tmp_path: Path) -> None:
    memories = "".join(f"- Memory {number} {{importance=often}}\n" for number in range(30))
    result = inside("build", "-w", fill(tmp_path, {"agents/a/memories/m.md": memories}))
    assert result.err.count("`importance` is `often`") == 5
    assert "ctxasm: warning: 25 more like these; `ctxasm check` lists the defects of files\n" in result.err


def test_an_import_says_where_all_of_its_warnings_are(tmp_path: Path) -> None:
    entries = "".join(json.dumps({"text": f"Memory {number}\u202e"}) + "\n" for number in range(30))
    workspace = fill(tmp_path / "w", {})
    (tmp_path / "m.jsonl").write_text(entries)
    result = inside("import", "jsonl", tmp_path / "m.jsonl", "-a", "a", "-w", workspace)
    warnings = [line for line in result.err.splitlines() if line.startswith("ctxasm: warning: ")]
    assert len(warnings) == 6
    assert warnings[-1] == "ctxasm: warning: 25 more like these; --json lists all"
