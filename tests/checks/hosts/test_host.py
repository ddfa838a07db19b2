"""`check --host` and `explain --host`: what a host loads by itself, and which lines of it never reach the model.

The golden files in `cases/hosts` hold the findings and the table for one folder with every file too long.
`UPDATE_CASES=1 pytest tests/checks/hosts/test_host.py` writes them.
"""

import itertools
import json
import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextasm.checks.hosts.cuts import kept_around, kept_runs, lost_runs, lost_sections, taken_runs
from contextasm.checks.hosts.files import read_host_files
from contextasm.config.hosts.loader import Cut, Digest, Host, host_names, load_host
from contextasm.config.input.values import parse_inner_paths
from contextasm.rendering.json_codec import from_json, to_json
from tests.command import CASES, ROOT, Result, fill, held_against, inside, refused

HOSTS = host_names()


def rules(count: int, title: str) -> str:
    """A file of sections of ten lines each, about 350 letters long."""
    lines = "".join(f"{title} holds, whatever else is said here.\n" for _ in range(9))
    return "".join(f"## {title} {number}\n{lines}" for number in range(1, count + 1))


LONG: Mapping[str, str] = {
    "AGENTS.md": f"# Agents\n{rules(80, 'Rule')}",
    "SOUL.md": f"# Soul\n{rules(70, 'Trait')}",
    "IDENTITY.md": "I am Ada.\n",
    "USER.md": f"# User\n{rules(12, 'Habit')}",
    "TOOLS.md": "# Tools\nA hammer.\n",
    "HEARTBEAT.md": "\n",
    "MEMORY.md": "".join(f"- Memory {number} of a long life\n" for number in range(1000)),
    "memory.md": "- The other spelling\n",
    "CLAUDE.md": f"# Claude\n{rules(90, 'Order')}",
    ".hermes.md": f"# Hermes\n{rules(60, 'Wing')}",
}


def check(folder: Path, *words: str | Path) -> Result:
    """`ctxasm check --host` in a folder."""
    return inside("check", *words, cwd=folder)


def files(folder: Path, texts: Mapping[str, str | bytes]) -> Path:
    """A folder of these files alone."""
    return fill(folder, texts, base={})


def git(folder: Path, *words: str) -> None:
    """A command of git in a folder."""
    subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True)


def codes(result: Result) -> list[tuple[str, str]]:
    """Path, severity and id of each finding."""
    return re.findall(r"^([^:\n]+(?::\d+)?: \w+): .* (\[[\w-]+\])$", result.out, re.MULTILINE)


@pytest.mark.parametrize("command", ["check", "explain"])
def test_help_lists_the_hosts_that_have_rules(command: str) -> None:
    words = " ".join(inside(command, "--help").out.split()).replace("- ", "-")
    (listed,) = re.findall(r"Apply the loading rules of this host: ([\w, -]+)\.", words)
    assert listed.split(", ") == HOSTS
    assert [path.stem for path in sorted((ROOT / "contextasm/config/hosts").glob("*.yaml"))] == HOSTS


@pytest.mark.parametrize("host", HOSTS)
def test_cuts_of_a_host_are_those_of_the_golden_file(host: str, tmp_path: Path) -> None:
    folder = files(tmp_path / "folder", LONG)
    outside = ["--host-file", "MEMORY.md"] if host in {"claude-code", "hermes"} else []
    parts = [inside(command, "--host", host, *outside, cwd=folder) for command in ("check", "explain")]
    shown = "".join(part.out + part.err for part in parts).replace(str(folder), "FOLDER")
    held_against(CASES / "hosts" / f"{host}.txt", shown)


@pytest.mark.parametrize("host", HOSTS)
def test_the_file_of_a_host_is_sound(host: str) -> None:
    loaded = load_host(host, "test")
    assert from_json(Host, to_json(Host, loaded), host) == loaded  # of the types that its fields declare
    for rule in loaded.loads:
        assert parse_inner_paths([*rule.files], host) == rule.files
        assert rule.folders in {"folder", "repository", "outside"}
        assert bool(rule.place) == (rule.folders == "outside")
        for cut in (rule.each, rule.together):
            assert cut.trimmed in {"", "end", "both"}
            assert min(cut.chars, cut.codepoints, cut.bytes, cut.lines, cut.head, cut.tail, cut.marker) >= 0
            assert cut.head + cut.tail + (cut.digest.share if cut.digest else 0) <= 100
    assert not loaded.hook or loaded.hook.unit in {"chars", "bytes"}
    facts = [(rule.source, rule.date) for rule in loaded.loads] + [(rule.source, rule.date) for rule in loaded.unread]
    facts += [(loaded.hook.source, loaded.hook.date)] if loaded.hook else []
    for source, month in facts:
        assert source
        assert re.fullmatch(r"20\d\d-[01]\d", month)


MARK = b"\xef\xbb\xbf"
"""A byte order mark."""


@pytest.mark.parametrize(
    ("host", "name", "whole", "cut"),
    [
        ("codex", "AGENTS.md", b"x" * 32_768, b"x" * 32_769),
        ("codex", "AGENTS.md", MARK + b"x" * 32_765, MARK + b"x" * 32_766),
        ("codex", "AGENTS.md", b"x\r\n" * 10_922 + b"yy", b"x\r\n" * 10_922 + b"yyy"),
        ("codex", "AGENTS.md", "é".encode() * 16_384, b"x" + "é".encode() * 16_384),
        ("openclaw", "AGENTS.md", b"x" * 20_000, b"x" * 20_001),
        ("openclaw", "SOUL.md", b"x" * 20_000 + b"\n", b"\n" + b"x" * 20_000),
        ("openclaw", "SOUL.md", MARK + b"x" * 19_999, MARK + b"x" * 20_000),
        ("openclaw", "SOUL.md", "😀".encode() * 10_000, b"x" + "😀".encode() * 10_000),
        ("openclaw", "USER.md", b"x" * 4_000, b"x" * 4_001),
        # Hermes measures `## AGENTS.md` and an empty line, 14 characters, with the text.
        ("hermes", "AGENTS.md", b"x" * 19_986, b"x" * 19_987),
        ("hermes", "AGENTS.md", b"\n\n" + b"x" * 19_986 + b" \n", b"\n\n" + b"x" * 19_987 + b" \n"),
        ("hermes", "AGENTS.md", MARK + b"x" * 19_986, MARK + b"x" * 19_987),
        ("hermes", "AGENTS.md", b"x\r\n" * 9_992 + b"yy", b"x\r\n" * 9_992 + b"yyy"),
        ("hermes", "AGENTS.md", "😀".encode() * 19_986, "😀".encode() * 19_987),
        ("hermes", ".hermes.md", b"x" * 19_985, b"x" * 19_986),
        # `## .cursorrules` with an empty line before and behind the text: 19 characters.
        ("hermes", ".cursorrules", b"x" * 19_981, b"x" * 19_982),
    ],
)
def test_limit_is_held_to_the_letter(host: str, name: str, whole: bytes, cut: bytes, tmp_path: Path) -> None:
    folders = [files(tmp_path / name, {name: data}) for name, data in (("whole", whole), ("cut", cut))]
    for folder, data in zip(folders, (whole, cut), strict=True):
        (folder / name).write_bytes(data)
    assert [check(folder, "--host", host).code for folder in folders] == [0, 1]


def test_heading_behind_a_byte_order_mark_is_one(tmp_path: Path) -> None:
    done = check(files(tmp_path, {"AGENTS.md": MARK + b"# First\n" + b"x" * 40_000}), "--host", "codex")
    assert "under `First`" in done.out


def test_hermes_cuts_a_chain_with_the_titles_of_its_files(tmp_path: Path) -> None:
    root = files(tmp_path, {".git/HEAD": "", "AGENTS.md": "x" * 10_000, "a/AGENTS.md": "y" * 9_967})
    assert check(root / "a", "--host", "hermes").code == 0
    (root / "a/AGENTS.md").write_text("y" * 9_968)
    done = check(root / "a", "--host", "hermes")
    assert "20,000 characters for all of them" in done.out


IMPORTS: Mapping[str, tuple[str, set[str]]] = {
    # A line that imports docs/NAME, by the hosts that follow it: as they did when they were run.
    "plain.md": ("@docs/plain.md", {"claude-code", "gemini"}),
    "middle.md": ("See @docs/middle.md for more.", {"claude-code", "gemini"}),
    "stop.md": ("See @docs/stop.md.", set()),
    "comma.md": ("See @docs/comma.md, please.", set()),
    "end.md": ("Read @docs/end.md; then go on", set()),
    "round.md": ("(@docs/round.md)", set()),
    "quoted.md": ('"@docs/quoted.md"', set()),
    "link.md": ("[x](@docs/link.md)", set()),
    "bold.md": ("**@docs/bold.md**", {"claude-code"}),
    "italic.md": ("_@docs/italic.md_", {"claude-code"}),
    "label.md": ("[@docs/label.md](https://example.org)", {"claude-code"}),
    "mail.md": ("me@docs/mail.md", set()),
    "span.md": ("`@docs/span.md`", set()),
    "fence.md": ("```\n@docs/fence.md\n```", set()),
    "indent.md": ("Text\n\n    @docs/indent.md", {"gemini"}),
    "nested.md": ("- a\n    - @docs/nested.md", {"claude-code", "gemini"}),
    "comment.md": ("<!-- @docs/comment.md -->", {"gemini"}),
    "after.md": ("<!-- note --> @docs/after.md", {"claude-code", "gemini"}),
    "html.md": ("<div>\n@docs/html.md\n</div>", {"gemini"}),
    "anchor.md": ("@docs/anchor.md#part", {"claude-code"}),
    "with space.md": (r"@docs/with\ space.md", {"claude-code"}),
    "NOEXT": ("@docs/NOEXT", {"claude-code", "gemini"}),
    "odd.weird": ("@docs/odd.weird", {"gemini"}),
    "upper.MD": ("@docs/upper.MD", {"claude-code", "gemini"}),
}

SIGNS = ["stop", "comma", "end", "round", "quoted", "link"]
PASSED = {"claude-code": SIGNS, "gemini": [*SIGNS, "bold", "italic", "label", "with space"]}
"""What a build follows and the host does not, because of a sign in it or next to it."""


@pytest.mark.parametrize(
    ("host", "main", "depth"),
    [
        ("claude-code", "CLAUDE.md", 4),
        ("claude-code", "AGENTS.md", 4),
        ("gemini", "GEMINI.md", 5),
        ("codex", "AGENTS.md", 0),
    ],
)
def test_imports_are_those_that_the_host_follows(host: str, main: str, depth: int, tmp_path: Path) -> None:
    texts = {main: "\n\n".join([*(line for line, _ in IMPORTS.values()), "@docs/d1.md"])}
    texts |= {f"docs/{name}": f"{name}\n" for name in IMPORTS}
    texts |= {f"docs/d{number}.md": f"@d{number + 1}.md @d1.md @../{main}\n" for number in range(1, 9)}
    reading = read_host_files(load_host(host, "test"), str(files(tmp_path, {".git/HEAD": "", **texts})))
    followed = [f"docs/{name}" for name, (_, hosts) in IMPORTS.items() if host in hosts]
    followed += [f"docs/d{number}.md" for number in range(1, depth + 1)]
    assert [file.path for file in reading.files] == [main, *followed]
    assert [problem.message for problem in reading.problems] == [
        f"{reading.host.summary} does not load @docs/{name}.md as it is written" for name in PASSED.get(host, [])
    ]


def test_a_file_that_another_imports_is_a_row_with_its_line(tmp_path: Path) -> None:
    texts = {"CLAUDE.md": "# Claude\n\n@AGENTS.md\n", "AGENTS.md": "Be brief.\n", "GEMINI.md": "Be long.\n"}
    folder = files(tmp_path, texts)
    shown = inside("explain", "--host", "claude-code", cwd=folder).out
    assert re.search(r"^AGENTS\.md  whole +3 +imported by CLAUDE\.md:3$", shown, re.MULTILINE)
    assert re.search(r"^GEMINI\.md  not loaded +it is for other programs$", shown, re.MULTILINE)
    assert codes(check(folder, "--host", "claude-code")) == [("GEMINI.md: note", "[host-unread]")]
    data = json.loads(inside("explain", "--host", "claude-code", "--json", cwd=folder).out)
    assert [file["imported_by"] for file in data["files"]] == ["", "CLAUDE.md:3"]


def test_an_import_that_the_host_follows_to_no_file_is_a_warning(tmp_path: Path) -> None:
    texts = {"CLAUDE.md": "# C\nSee @docs/gone.md and ask @bob.\n`@docs/code.md` @docs/a.md\n", "docs/a.md": "A\n"}
    done = check(files(tmp_path, texts), "--host", "claude-code")
    assert "CLAUDE.md:2: warning: @docs/gone.md names no file: correct the path [host-unreadable]" in done.out
    assert codes(done) == [("CLAUDE.md:2: warning", "[host-unreadable]")]
    assert done.code == 0


def test_an_import_with_a_comma_after_it_is_a_warning_that_says_so(tmp_path: Path) -> None:
    texts = {
        "CLAUDE.md": "# C\n@a.md, @b.md\n@d/gone.md, @x.mdc\n\nSee @b.md, ask @bob.\n",
        "a.md": "A\n",
        "b.md": "B\n",
    }
    folder = files(tmp_path, texts)
    rest = "as it is written: put it between blanks, with no comma or other sign next to it, and with an ending"
    lines = [(2, "a.md"), (3, "d/gone.md"), (3, "x.mdc")]
    shown = [
        f"CLAUDE.md:{line}: warning: Claude Code does not load @{path} {rest} such as .md [host-unreadable]"
        for line, path in lines
    ]
    assert check(folder, "--host", "claude-code").out.splitlines()[:3] == shown
    rows = inside("explain", "--host", "claude-code", cwd=folder).out
    assert re.search(r"^CLAUDE\.md:2  not loaded +Claude Code does not load @a\.md", rows, re.MULTILINE)


def test_a_host_that_loads_nothing_is_a_warning(tmp_path: Path) -> None:
    done = check(files(tmp_path, {"AGENTS.md": "A\n", "CLAUDE.md": "C\n"}), "--host", "gemini")
    assert "warning: Gemini CLI loads no file of this folder: write GEMINI.md, with the line @AGENTS.md" in done.out
    assert codes(done) == [("AGENTS.md: note", "[host-unread]"), ("CLAUDE.md: note", "[host-unread]")]
    assert done.code == 0


def test_hint_names_only_files_that_the_host_would_load(tmp_path: Path) -> None:
    scoped = {".github/instructions/a.instructions.md": "---\napplyTo: src/**\n---\nA\n"}
    rules = {".cursor/rules/x.mdc": "Be brief.\n", **scoped}
    folder = files(tmp_path, rules)
    assert (
        "write CLAUDE.md, with the text of .cursor/rules/x.mdc [host-empty]"
        in check(folder, "--host", "claude-code").out
    )
    assert "write GEMINI.md, with the line @.cursor/rules/x.mdc [host-empty]" in check(folder, "--host", "gemini").out
    files(tmp_path, {"GEMINI.md": "G\n", ".github/copilot-instructions.md": "C\n"})
    lines = "the line @GEMINI.md and the line @.github/copilot-instructions.md"
    assert f"write CLAUDE.md, with {lines} [host-empty]" in check(folder, "--host", "claude-code").out


def test_a_file_whose_text_is_in_a_block_is_not_reported(tmp_path: Path) -> None:
    tools = "# Tools\n\n\nUse the lamp.\n\n## Keys\n- ghp_" + "a1B2" * 9 + "\n"
    folder = files(tmp_path, {"SOUL.md": "Be kind.\n", "TOOLS.md": tools, "MEMORY.md": "M\n", "AGENTS.md": "Rules.\n"})
    lost = [("TOOLS.md: warning", "[host-unread]")]
    assert codes(check(folder, "--host", "openclaw")) == lost
    rows = inside("explain", "--host", "codex", cwd=folder).out
    assert re.findall(r"^(\S+) +not loaded", rows, re.MULTILINE) == ["MEMORY.md", "SOUL.md", "TOOLS.md"]
    assert inside("build", "-p", "openclaw", "--into", "AGENTS.md", cwd=folder).code == 0
    assert "[masked:" in (folder / "AGENTS.md").read_text()
    assert codes(check(folder, "--host", "openclaw")) == []
    (folder / "TOOLS.md").write_text(tools + "And the switch.\n")
    assert codes(check(folder, "--host", "openclaw")) == lost


@pytest.mark.parametrize(
    ("front", "patterns"),
    [
        ('paths:\n  - "src/**/*.ts"\n  - lib/**\n', "src/**/*.ts, lib/**"),
        ("paths: [a.md, b.md]\r\n", "a.md, b.md"),
        ("paths: docs/*.md\n", "docs/*.md"),
        ('paths: "**"\n', ""),
        ("paths:\nname: x\n", ""),
        ("name: x\n", ""),
    ],
)
def test_claude_code_loads_a_rule_with_paths_on_demand(front: str, patterns: str, tmp_path: Path) -> None:
    texts = {".claude/rules/a.md": f"---\n{front}---\nBe brief.\n"}
    folder = files(tmp_path, texts)
    reading = read_host_files(load_host("claude-code", "test"), str(folder))
    assert [file.path for file in reading.files] == ([] if patterns else [".claude/rules/a.md"])
    done = inside("explain", "--host", "claude-code", cwd=folder)
    shown = f"it is loaded on demand, with files that match {patterns}"
    assert (shown in done.out) is bool(patterns)
    assert check(folder, "--host", "claude-code").out == "no findings\n"


def test_openclaw_keeps_three_quarters_and_one_quarter(tmp_path: Path) -> None:
    text = "".join(f"{number:09}\n" for number in range(3000))
    (file,) = read_host_files(load_host("openclaw", "test"), str(files(tmp_path, {"SOUL.md": text + "\n" * 9}))).files
    assert "".join(text[start:stop] for start, stop in file.kept) == text[:14_920] + text.rstrip()[-4_973:]
    (file,) = read_host_files(
        load_host("openclaw", "test"), str(files(tmp_path, {"SOUL.md": text[:20_000] + "\n" * 99}))
    ).files
    assert file.limit == ""


def test_openclaw_keeps_a_digest_of_agents(tmp_path: Path) -> None:
    prose = "".join(f"Prose {number:04} says nothing that anybody would look for.\n\n" for number in range(300))
    middle = f"## A heading\n\nFor example:\n- an item\n\nYou must not.\n\n```\nplain code\n```\n\n- {'x' * 400}\n\n"
    text = f"{prose}{middle}{prose}"
    (file,) = read_host_files(load_host("openclaw", "test"), str(files(tmp_path, {"AGENTS.md": text}))).files
    kept = [text[start:stop] for start, stop in file.kept]
    assert kept[0] == text[:9_000]
    assert kept[-1] == text.rstrip()[-3_000:]
    assert kept[1:-1] == ["## A heading", "For example:", "- an item", "You must not.", f"- {'x' * 238}"]
    done = check(tmp_path, "--host", "openclaw")
    line = text.count("\n", 0, 9_000) + 1
    assert codes(done) == [(f"AGENTS.md:{line}: error", "[host-cut]")]
    assert "are never seen, but for single lines in a digest" in done.out


def test_digest_of_openclaw_takes_no_more_than_its_part(tmp_path: Path) -> None:
    lines = [f"- item {number:04} of a list\n" for number in range(1000)]
    lines[500] = "- you must never do this\n"
    text = "".join(lines)
    (file,) = read_host_files(load_host("openclaw", "test"), str(files(tmp_path, {"AGENTS.md": text}))).files
    kept = [text[start:stop] for start, stop in file.kept]
    assert kept == [text[:9_000], "- you must never do this", text.rstrip()[-3_000:]]


def test_openclaw_skips_files_when_its_total_is_used_up(tmp_path: Path) -> None:
    full = "x" * 20_000
    folder = files(tmp_path, {"AGENTS.md": full, "SOUL.md": full, "IDENTITY.md": "x" * 19_950, "MEMORY.md": "- One\n"})
    done = check(folder, "--host", "openclaw")
    assert codes(done) == [("MEMORY.md:1: error", "[host-cut]")]
    assert "60,000 characters in all" in done.out


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        pytest.param("- x\n" * 200, False, id="200 lines"),
        pytest.param("- x\n" * 201, True, id="201 lines"),
        pytest.param("港" * 25_000, False, id="25,000 letters"),
        pytest.param("😀" * 12_500, False, id="12,500 letters of two units"),
        pytest.param("😀" * 12_501, True, id="12,501 letters of two units"),
        pytest.param("\n\n\n" + "- x\n" * 200 + "\n\n", False, id="200 lines between blank ones"),
    ],
)
def test_claude_code_reads_200_lines_or_25_000_units_of_its_memory(text: str, cut: bool, tmp_path: Path) -> None:
    memory = files(tmp_path / "memory", {"MEMORY.md": text}) / "MEMORY.md"
    folder = files(tmp_path / "folder", {"CLAUDE.md": "x\n" * 100_000})
    assert check(folder, "--host", "claude-code").code == 0
    assert check(folder, "--host", "claude-code", "--host-file", memory).code == int(cut)


def test_codex_shares_its_bytes_along_the_chain_root_first(tmp_path: Path) -> None:
    repository = files(
        tmp_path,
        {
            ".git/HEAD": "",
            "AGENTS.md": "x" * 30_000,
            "a/AGENTS.md": "not read",
            "a/AGENTS.override.md": "y" * 2_000,
            "a/b/AGENTS.md": "# Last\n" + "z" * 2_000,
            "other/AGENTS.md": "not on the way",
        },
    )
    done = check(repository / "a/b", "--host", "codex")
    assert codes(done) == [("a/AGENTS.md: note", "[host-unread]"), ("a/b/AGENTS.md:2: error", "[host-cut]")]
    assert codes(check(repository, "--host", "codex")) == []


def test_claude_code_takes_comments_and_front_matter_out(tmp_path: Path) -> None:
    text = "---\nowner: us\n---\nOne.\n<!--\nFor people.\n-->\n\n<!-- a line --> rest\n\nIn <!-- this --> stays.\n\n"
    text += "```\n<!-- so -->\n```\n"
    folder = files(tmp_path / "folder", {"CLAUDE.md": text})
    (file,) = read_host_files(load_host("claude-code", "test"), str(folder)).files
    shown = "".join(text[start:stop] for start, stop in file.kept)
    assert shown == "One.\n\n\n rest\n\nIn <!-- this --> stays.\n\n```\n<!-- so -->\n```\n"
    done = check(folder, "--host", "claude-code")
    words = "Claude Code takes comments and front matter out of this file: 7 lines"
    assert (done.code, f"CLAUDE.md:1: note: {words} [host-taken-out]" in done.out) == (0, True)
    assert "less comments and front matter" in inside("explain", "--host", "claude-code", cwd=folder).out
    # They do not count among the 200 lines of its memory.
    memory = (
        files(tmp_path / "memory", {"MEMORY.md": "---\nname: x\n---\n<!--\nx\n-->\n" + "- x\n" * 200}) / "MEMORY.md"
    )
    assert check(folder, "--host", "claude-code", "--host-file", memory).code == 0
    memory.write_text(memory.read_text() + "- y\n")
    assert check(folder, "--host", "claude-code", "--host-file", memory).code == 1


def test_blank_override_hides_the_file_of_its_folder_from_codex(tmp_path: Path) -> None:
    folder = files(tmp_path, {"AGENTS.override.md": " \n", "AGENTS.md": "A\n"})
    assert codes(check(folder, "--host", "codex")) == [("AGENTS.md: note", "[host-unread]")]
    assert codes(check(folder, "--host", "hermes")) == []


def test_openclaw_does_not_load_memory_in_small_letters(tmp_path: Path) -> None:
    folder = files(tmp_path, {"AGENTS.md": "A\n", "memory.md": "- One\n"})
    assert codes(check(folder, "--host", "openclaw")) == [("memory.md: warning", "[host-unread]")]


def test_blanks_at_the_end_take_nothing_of_the_total(tmp_path: Path) -> None:
    full = "x" * 19_990
    texts = {"AGENTS.md": full, "IDENTITY.md": full, "SOUL.md": "I\n" + "\n" * 30_000, "MEMORY.md": "- One\n" * 2_500}
    assert codes(check(files(tmp_path, texts), "--host", "openclaw")) == []


def test_digest_shows_chinese_rules_and_takes_its_own_length_of_the_total(tmp_path: Path) -> None:
    prose = "這是一行普通的文字\n\n" * 1_400
    text = f"{prose}任務完成前必須先跑測試\n\n{prose}"
    texts = {"AGENTS.md": text, "SOUL.md": "x" * 20_000, "IDENTITY.md": "x" * 20_000, "MEMORY.md": "- One\n" * 1_250}
    reading = read_host_files(load_host("openclaw", "test"), str(files(tmp_path, texts)))
    agents, *others = reading.files
    assert [text[start:stop] for start, stop in agents.kept][1:-1] == ["任務完成前必須先跑測試"]
    assert not [file.path for file in others if file.limit]
    # The line of the digest is not named as lost.
    number = text[: text.index("任務")].count("\n") + 1
    lost = {section.first for part in agents.lost_parts for section in part}
    assert number not in lost
    assert number + 1 in lost


def test_memories_of_hermes_are_loaded_whole(tmp_path: Path) -> None:
    memory = files(tmp_path / "memory", {"MEMORY.md": "- x\n" * 1_000}) / "MEMORY.md"
    folder = files(tmp_path / "folder", {"AGENTS.md": "A\n"})
    assert codes(check(folder, "--host", "hermes", "--host-file", memory)) == []


def test_title_of_a_hermes_file_from_above_is_its_name(tmp_path: Path) -> None:
    root = files(tmp_path, {".git/HEAD": "", ".hermes.md": "x" * 19_985, "sub/x": "x\n"})
    assert codes(check(root / "sub", "--host", "hermes")) == []


def test_hermes_uses_one_kind_of_file(tmp_path: Path) -> None:
    texts = {"AGENTS.md": "same\n", "CLAUDE.md": "same\n", ".cursorrules": "other\n"}
    assert codes(check(files(tmp_path, texts), "--host", "hermes")) == [(".cursorrules: note", "[host-unread]")]


def test_claude_code_reads_agents_md_only_where_there_is_no_claude_md(tmp_path: Path) -> None:
    alone = files(tmp_path / "alone", {"AGENTS.md": "A\n"})
    above = files(tmp_path / "above", {".git/HEAD": "", "CLAUDE.md": "C\n", "sub/AGENTS.md": "A\n"})
    assert codes(check(alone, "--host", "claude-code")) == []
    assert codes(check(above / "sub", "--host", "claude-code")) == [("sub/AGENTS.md: note", "[host-unread]")]


def test_finding_names_line_headings_and_tokens(tmp_path: Path) -> None:
    text = "# One\n" + "a" * 2_915 + "\n" + "```\n# no heading\n```\n## Two\n" + "b\n" * 187 + "c" * 974
    done = check(files(tmp_path, {"USER.md": text}), "--host", "openclaw")
    lost = "191 lines under `One`, `Two`, some 101 tokens, are never seen"
    assert f"USER.md:3: error: OpenClaw cuts this file at 4,000 characters: {lost}: shorten the file" in done.out


def test_json_of_explain_lists_every_lost_section(tmp_path: Path) -> None:
    done = inside("explain", "--host", "openclaw", "--json", cwd=files(tmp_path, LONG))
    data = json.loads(done.out)
    agents = next(file for file in data["files"] if file["path"] == "AGENTS.md")
    assert (data["schema"], agents["outcome"], bool(agents["source"])) == ("ctxasm.host/1", "cut", True)
    assert sum(part["tokens"] for part in agents["lost"]) >= agents["lost_tokens"] > 0
    assert data["not_looked_at"]
    assert done.code == 0


def test_json_of_check_is_that_of_findings(tmp_path: Path) -> None:
    folder = files(tmp_path, LONG)
    short, long = (check(folder, "--host", "codex", *words) for words in (("--json",), ("--format", "json")))
    assert short == long
    assert json.loads(short.out)["schema"] == "ctxasm.findings/1"


def test_folder_needs_no_workspace_and_may_be_empty(tmp_path: Path) -> None:
    done = check(tmp_path, "--host", "codex")
    warning = "warning: Codex loads no file of this folder: write AGENTS.md [host-empty]"
    assert (done.code, done.out) == (0, f"{warning}\n1 finding: 1 warning\n")
    assert check(tmp_path, "--host", "codex", "--strict").code == 1
    assert f"Codex in {tmp_path}: 0 files" in done.err
    assert "not looked at: ~/.codex/AGENTS.md" in done.err


def test_files_that_can_not_be_read_are_findings(tmp_path: Path) -> None:
    folder = files(tmp_path / "folder", {"IDENTITY.md": b"\xff\xfe\x00\xd8"})
    secret = files(tmp_path / "out", {"secret.md": "hidden treasure\n"})
    os.mkfifo(folder / "SOUL.md")
    (folder / "USER.md").symlink_to(secret / "secret.md")
    done = check(folder, "--host", "openclaw")
    assert {path for path, _ in codes(done)} == {"IDENTITY.md: error", "SOUL.md: error", "USER.md: error"}
    assert "treasure" not in done.out + done.err
    assert done.code == 1


def test_secret_in_a_heading_is_not_shown(tmp_path: Path) -> None:
    text = "# One\n" + "a" * 5_000 + "\n# ghp_" + "a1B2" * 9 + "\n" + "b\n" * 900
    done = check(files(tmp_path, {"USER.md": text}), "--host", "openclaw")
    assert "ghp_" not in done.out


@pytest.mark.parametrize("command", ["check", "explain"])
@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("--host", "openclow"), "did you mean openclaw?"),
        (("--host", ""), "--host: is empty"),
        (("--host", "codex", "-a", "luna"), "--agent: does not go with --host"),
        (("--host", "openclaw", "--host-file", "SOUL.md"), "loads no file of this name from outside"),
        (("--host", "codex", "--host-file", "missing/AGENTS.md"), "--host-file"),
        (("--host-file", "AGENTS.md"), "goes with --host only"),
        (("--host", "codex", "-w", "missing"), "is not a folder"),
    ],
)
def test_contradictions_are_refused(command: str, words: tuple[str, ...], part: str, tmp_path: Path) -> None:
    refused(inside(command, *words, cwd=files(tmp_path, LONG)), part)


@pytest.mark.parametrize(
    "words",
    [
        *(
            ("check", "--baseline", "b.json"),
            ("check", "--update-baseline"),
        ),
        *(("explain", "--line", "AGENTS.md:1"), ("explain", "--id", "x")),
        *(
            ("explain", "--locked"),
            ("explain", "--html", "p.html"),
            ("explain", "--budgets", "1k"),
        ),
        *(("explain", "--verbose"), ("check", "AGENTS.md"), ("explain", "abc")),
    ],
)
def test_what_asks_about_a_build_is_refused(words: tuple[str, ...], tmp_path: Path) -> None:
    name = words[1] if words[1].startswith("--") or words[0] == "check" else "RECORD"
    refused(inside(*words, "--host", "codex", cwd=files(tmp_path, LONG)), f"error: {name}: does not go with --host")


def test_staged_files_are_read_as_the_next_commit_has_them(tmp_path: Path) -> None:
    texts = {"CLAUDE.md": "@docs/a.md\n", "docs/a.md": "A.\n", "sub/AGENTS.md": "x" * 40_000}
    root = files(tmp_path, texts)
    git(root, "init", "-q")
    git(root, "add", "-A")
    (root / "sub/AGENTS.md").write_text("short\n")
    (root / "docs/a.md").unlink()
    assert codes(check(root / "sub", "--host", "codex", "--staged")) == [
        ("CLAUDE.md: note", "[host-unread]"),
        ("sub/AGENTS.md:1: error", "[host-cut]"),
    ]
    assert check(root / "sub", "--host", "codex").code == 0
    assert "2 files that it loads by itself" in check(root, "--host", "claude-code", "--staged").err


@given(
    text=st.text(st.sampled_from("ab\n# é😀")),
    cut=st.builds(
        Cut,
        chars=st.integers(0, 40),
        codepoints=st.sampled_from([0, 30]),
        bytes=st.integers(0, 40),
        lines=st.integers(0, 5),
        head=st.sampled_from([100, 70, 50]),
        tail=st.sampled_from([0, 20]),
        marker=st.sampled_from([0, 3, 50]),
        trimmed=st.sampled_from(["", "end", "both"]),
        digest=st.sampled_from([None, Digest(10, 4, ("a",), ("b",))]),
    ),
)
def test_what_is_kept_and_what_is_lost_are_the_text(text: str, cut: Cut) -> None:
    if cut.head == 100:
        cut = cut._replace(tail=0, digest=None)
    kept = kept_runs(text, cut)
    letters = "".join(text[start:stop] for start, stop in kept)
    assert not cut.chars or len(letters.encode("utf-16-le")) <= 2 * cut.chars
    assert not cut.bytes or len(letters.encode()) <= cut.bytes
    assert not cut.lines or letters.count("\n") <= cut.lines
    lost = lost_runs(text, kept)
    covered = sorted([*kept, *lost])
    assert all(first[1] <= second[0] for first, second in itertools.pairwise(covered))
    between = set(range(len(text))) - {place for start, stop in covered for place in range(start, stop)}
    assert "".join(text[place] for place in sorted(between)).strip() == ""
    sections = "".join(section.text for section in lost_sections(text, lost))
    assert "".join(sections.split()) == "".join("".join(text[start:stop] for start, stop in lost).split())


@given(st.lists(st.sampled_from(["a", "\n", "<!--", "-->", "---\n", "k: v\n", "```\n", " "])).map("".join))
def test_what_is_kept_and_what_is_taken_out_are_the_text(text: str) -> None:
    taken = taken_runs(text, ("comments", "front_matter"))
    runs = sorted([*kept_around(text, taken, Cut()), *taken])
    assert "".join(text[start:stop] for start, stop in runs) == text


def test_a_file_that_is_named_twice_is_counted_once(tmp_path: Path) -> None:
    (tmp_path / "mem").mkdir()
    memory = tmp_path / "mem" / "MEMORY.md"
    memory.write_text("- One\n", encoding="utf-8")
    twice = ("--host-file", memory, "--host-file", tmp_path / "mem" / ".." / "mem" / "MEMORY.md")
    once = inside("check", "--host", "claude-code", "-w", tmp_path, *twice[:2])
    assert inside("check", "--host", "claude-code", "-w", tmp_path, *twice).out == once.out
