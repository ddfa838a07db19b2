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
from tests.command import CASES, ROOT, Result, fill, held_against, inside

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
    """`ctxasm check --host` in a folder, on the day after hosts were run."""
    return inside("check", "--date", "2026-11-23", *words, cwd=folder)


def files(folder: Path, texts: Mapping[str, str | bytes]) -> Path:
    """A folder of these files alone."""
    return fill(folder, texts, base={})


def git(folder: Path, *words: str) -> None:
    """A command of git in a folder."""
    subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True)


def codes(result: Result) -> list[tuple[str, str]]:
    """Path with severity, and id, of each finding."""
    return re.findall(r"^([^:\n]+(?::\d+)?: \w+): .* (\[[\w-]+\])$", result.out, re.MULTILINE)


@pytest.mark.parametrize("command", ["check", "explain"])
def test_help_lists_the_hosts_that_have_rules(command: str) -> None:
    words = " ".join(inside(command, "--help").out.split()).replace("- ", "-")
    (listed,) = re.findall(r"Apply the loading rules of this host: ([\w, -]+)\. With", words)
    assert listed.split(", ") == HOSTS
    assert [path.stem for path in sorted((ROOT / "contextasm/config/hosts").glob("*.yaml"))] == HOSTS


@pytest.mark.parametrize("host", HOSTS)
def test_cuts_of_a_host_are_those_of_the_golden_file(host: str, tmp_path: Path) -> None:
    folder = files(tmp_path / "folder", LONG)
    outside = ["--host-file", "MEMORY.md"] if host in {"claude-code", "hermes"} else []
    words = ["--date", "2026-11-23", "--host", host, *outside]
    parts = [inside(command, *words, cwd=folder) for command in ("check", "explain")]
    shown = "".join(part.out + part.err for part in parts).replace(str(folder), "FOLDER")
    held_against(CASES / "hosts" / f"{host}.txt", shown)


@pytest.mark.parametrize("host", HOSTS)
def test_the_file_of_a_host_is_sound(host: str) -> None:
    loaded = load_host(host, "test")
    assert from_json(Host, to_json(Host, loaded), host) == loaded  # of the types that its fields declare
    for rule in loaded.loads:
        assert parse_inner_paths([*rule.files], host) == rule.files
        assert rule.folders in {"folder", "repository", "below", "outside"}
        assert bool(rule.place) == (rule.folders == "outside")
        for cut in (rule.each, rule.together):
            assert cut.trimmed in {"", "end", "both"}
            assert min(cut.chars, cut.codepoints, cut.bytes, cut.lines, cut.head, cut.tail, cut.marker) >= 0
            assert cut.head + cut.tail + (cut.digest.share if cut.digest else 0) <= 100
    run = " ".join(dict(loaded.verified).values())
    assert re.fullmatch(r"([\d.]+ 20\d\d-[01]\d-[0-3]\d)?", run)
    assert not loaded.hook or loaded.hook.unit in {"chars", "bytes"}
    facts = [(rule.source, rule.date) for rule in loaded.loads] + [(rule.source, rule.date) for rule in loaded.unread]
    facts += [(rule.source, rule.date) for rule in (loaded.hook, loaded.skills) if rule]
    assert not loaded.skills or loaded.skills.over in {"", "used", "even", "unknown"}
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
    # A window of 80,000 tokens raises no limit of Hermes.
    assert [check(folder, "--host", host, "--window", "80k").code for folder in folders] == [0, 1]


def test_openclaw_loads_no_link(tmp_path: Path) -> None:
    folder = files(tmp_path, {"docs/soul.md": "I am.\n", "AGENTS.md": "Do.\n"})
    (folder / "SOUL.md").symlink_to("docs/soul.md")
    message = "SOUL.md: error: OpenClaw does not load a link to a file: replace the link with the text"
    assert message in check(folder, "--host", "openclaw").out


def test_a_file_of_other_programs_may_be_a_link_or_unreadable(tmp_path: Path) -> None:
    folder = files(tmp_path / "in", {"AGENTS.md": "Do.\n", "docs/gemini.md": "G\n", ".claude/skills/a/a.md": "A\n"})
    (folder / "CLAUDE.md").symlink_to("AGENTS.md")
    (folder / "GEMINI.md").symlink_to("docs/gemini.md")
    (folder / ".claude/skills/a/SKILL.md").symlink_to("a.md")
    (folder / ".cursorrules").symlink_to(files(tmp_path / "out", {"rules": "R\n"}) / "rules")
    done = check(folder, "--host", "openclaw")
    # The text of CLAUDE.md is loaded, as AGENTS.md.
    lost = [(".claude/skills/a/SKILL.md:1: note", "[host-skill]"), ("GEMINI.md: note", "[host-unread]")]
    assert (codes(done), done.code) == (lost, 0)


IMPORTS: Mapping[str, tuple[str, set[str]]] = {
    # A line that imports docs/NAME, by the hosts that follow it: as they did when they were run.
    "plain.md": ("@docs/plain.md", {"claude-code", "gemini", "copilot"}),
    "middle.md": ("See @docs/middle.md for more.", {"claude-code", "gemini", "copilot"}),
    "stop.md": ("See @docs/stop.md.", {"copilot"}),
    "comma.md": ("See @docs/comma.md, please.", {"copilot"}),
    "end.md": ("Read @docs/end.md; then go on", {"copilot"}),
    "round.md": ("(@docs/round.md)", {"copilot"}),
    "quoted.md": ('"@docs/quoted.md"', {"copilot"}),
    "link.md": ("[x](@docs/link.md)", {"copilot"}),
    "bold.md": ("**@docs/bold.md**", {"claude-code"}),
    "italic.md": ("_@docs/italic.md_", {"claude-code"}),
    "label.md": ("[@docs/label.md](https://example.org)", {"claude-code"}),
    "mail.md": ("me@docs/mail.md", set()),
    "span.md": ("`@docs/span.md`", set()),
    "fence.md": ("```\n@docs/fence.md\n```", set()),
    "indent.md": ("Text\n\n    @docs/indent.md", {"gemini", "copilot"}),
    "nested.md": ("- a\n    - @docs/nested.md", {"claude-code", "gemini", "copilot"}),
    "comment.md": ("<!-- @docs/comment.md -->", {"gemini", "copilot"}),
    "after.md": ("<!-- note --> @docs/after.md", {"claude-code", "gemini", "copilot"}),
    "html.md": ("<div>\n@docs/html.md\n</div>", {"gemini", "copilot"}),
    "anchor.md": ("@docs/anchor.md#part", {"claude-code"}),
    "with space.md": (r"@docs/with\ space.md", {"claude-code"}),
    "NOEXT": ("@docs/NOEXT", {"claude-code", "gemini", "copilot"}),
    "odd.weird": ("@docs/odd.weird", {"gemini", "copilot"}),
    "upper.MD": ("@docs/upper.MD", {"claude-code", "gemini", "copilot"}),
}

SIGNS = ["stop", "comma", "end", "round", "quoted", "link"]
MARKS = ["bold", "italic", "label", "with space"]
PASSED = {"claude-code": SIGNS, "gemini": [*SIGNS, *MARKS], "copilot": MARKS}
"""What a build follows and the host does not, because of a sign in it or next to it."""


@pytest.mark.parametrize(
    ("host", "main", "depth"),
    [
        ("claude-code", "CLAUDE.md", 4),
        ("claude-code", "AGENTS.md", 4),
        ("gemini", "GEMINI.md", 5),
        ("codex", "AGENTS.md", 0),
        ("copilot", "AGENTS.md", 8),
    ],
)
def test_imports_are_those_that_the_host_follows(host: str, main: str, depth: int, tmp_path: Path) -> None:
    texts = {main: "\n\n".join([*(line for line, _ in IMPORTS.values()), "@docs/d1.md"])}
    texts |= {f"docs/{name}": f"{name}\n" for name in IMPORTS}
    texts |= {f"docs/d{number}.md": f"@d{number + 1}.md @d1.md @../{main}\n" for number in range(1, 10)}
    reading = read_host_files(load_host(host, "test"), str(files(tmp_path, {".git/HEAD": "", **texts})))
    followed = [f"docs/{name}" for name, (_, hosts) in IMPORTS.items() if host in hosts]
    followed += [f"docs/d{number}.md" for number in range(1, depth + 1)]
    assert [file.path for file in reading.files] == [main, *followed]
    assert [problem.message for problem in reading.problems] == [
        f"{reading.host.summary} does not load @docs/{name}.md as it is written" for name in PASSED.get(host, [])
    ]


def test_a_file_whose_text_is_in_a_block_is_not_reported(tmp_path: Path) -> None:
    tools = "# Tools\n\n\nUse the lamp.\n\n## Keys\n- ghp_" + "a1B2" * 9 + "\n"
    folder = files(tmp_path, {"SOUL.md": "Be kind.\n", "TOOLS.md": tools, "MEMORY.md": "M\n", "AGENTS.md": "Rules.\n"})
    lost = [("TOOLS.md: warning", "[host-unread]")]
    assert codes(check(folder, "--host", "openclaw")) == lost
    rows = inside("explain", "--host", "codex", cwd=folder).out
    assert re.findall(r"^(\S+) +not loaded", rows, re.MULTILINE) == ["SOUL.md", "MEMORY.md", "TOOLS.md"]
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
    assert "the model never sees" in done.out
    assert ", except single lines that the host keeps in a digest: shorten the file" in done.out


def test_digest_of_openclaw_takes_no_more_than_its_part(tmp_path: Path) -> None:
    lines = [f"- item {number:04} of a list\n" for number in range(1000)]
    lines[500] = "- you must never do this\n"
    text = "".join(lines)
    (file,) = read_host_files(load_host("openclaw", "test"), str(files(tmp_path, {"AGENTS.md": text}))).files
    kept = [text[start:stop] for start, stop in file.kept]
    assert kept == [text[:9_000], "- you must never do this", text.rstrip()[-3_000:]]


def test_claude_code_takes_comments_and_front_matter_out(tmp_path: Path) -> None:
    text = "---\nowner: us\n---\nOne.\n<!--\nFor people.\n-->\n\n<!-- a line --> rest\n\nIn <!-- this --> stays.\n\n"
    text += "```\n<!-- so -->\n```\n"
    folder = files(tmp_path / "folder", {"CLAUDE.md": text})
    (file,) = read_host_files(load_host("claude-code", "test"), str(folder)).files
    shown = "".join(text[start:stop] for start, stop in file.kept)
    assert shown == "One.\n\n\n rest\n\nIn <!-- this --> stays.\n\n```\n<!-- so -->\n```\n"
    done = check(folder, "--host", "claude-code")
    words = "Claude Code removes comments and front matter from this file: 7 lines"
    assert (done.code, f"CLAUDE.md:1: note: {words} [host-taken-out]" in done.out) == (0, True)
    assert "less comments and front matter" in inside("explain", "--host", "claude-code", cwd=folder).out
    # They do not count among the 200 lines of its memory.
    memory = (
        files(tmp_path / "memory", {"MEMORY.md": "---\nname: x\n---\n<!--\nx\n-->\n" + "- x\n" * 200}) / "MEMORY.md"
    )
    assert check(folder, "--host", "claude-code", "--host-file", memory).code == 0
    memory.write_text(memory.read_text() + "- y\n")
    assert check(folder, "--host", "claude-code", "--host-file", memory).code == 1


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


MANY = "x" * 20_000
HERMES = "hermes --window 80k"
BLANK = {"AGENTS.override.md": " \n", "AGENTS.md": "A\n"}
CHAIN = {
    "AGENTS.md": "x" * 30_000,
    "a/AGENTS.md": "not read",
    "a/AGENTS.override.md": "y" * 2_000,
    "a/b/AGENTS.md": "# Last\n" + "z" * 2_000,
    "other/AGENTS.md": "not on the way",
}
SHORT = {"AGENTS.md": MANY[10:], "IDENTITY.md": MANY[10:], "SOUL.md": "I\n" + "\n" * 30_000}
SAME = {"AGENTS.md": "same\n", "CLAUDE.md": "same\n", ".cursorrules": "other\n"}
MEMORY = {"CLAUDE.md": "x\n" * 100_000}

FACTS: Mapping[str, tuple[str, str, Mapping[str, str], list[str]]] = {
    # Words after --host, folder of the session, files, and what is found, as it was when the hosts were run.
    "blank override": ("codex", "", BLANK, ["AGENTS.md: note [host-unread]"]),
    "blank override of Hermes": ("hermes", "", BLANK, []),
    "chain": (
        "codex",
        "a/b",
        CHAIN,
        ["a/AGENTS.md: note [host-unread]", "a/b/AGENTS.md:2: error [host-cut]"],
    ),
    "top of the chain": (
        "codex",
        "",
        CHAIN,
        ["a/AGENTS.md: note [host-unread]", "a/b/AGENTS.md:2: warning [host-cut]"],
    ),
    "heading after a byte order mark": (
        "codex",
        "",
        {"AGENTS.md": "\ufeff# A\n" + "x" * 40_000},
        ["AGENTS.md:2: error [host-cut]"],
    ),
    "small letters": (
        "openclaw",
        "",
        {"AGENTS.md": "A\n", "memory.md": "- One\n"},
        ["memory.md: warning [host-unread]"],
    ),
    "blanks of the total": ("openclaw", "", {**SHORT, "MEMORY.md": "- One\n" * 2_500}, []),
    "used-up total": (
        "openclaw",
        "",
        {"AGENTS.md": MANY, "SOUL.md": MANY, "IDENTITY.md": MANY[50:], "MEMORY.md": "- One\n"},
        ["MEMORY.md:1: error [host-cut]"],
    ),
    "memories": ("hermes --host-file m/MEMORY.md", "", {"AGENTS.md": "A\n", "m/MEMORY.md": "- x\n" * 1_000}, []),
    "title from above": (HERMES, "sub", {".hermes.md": MANY[15:], "sub/x": "x\n"}, []),
    "one kind": ("hermes", "", SAME, [".cursorrules: note [host-unread]"]),
    "titles of a chain": (HERMES, "a", {"AGENTS.md": MANY[10_000:], "a/AGENTS.md": MANY[10_033:]}, []),
    "a chain with its titles": (
        HERMES,
        "a",
        {"AGENTS.md": MANY[10_000:], "a/AGENTS.md": MANY[10_032:]},
        ["a/AGENTS.md:1: error [host-cut]"],
    ),
    "an unknown window": ("hermes", "", {"AGENTS.md": MANY}, ["AGENTS.md:1: warning [host-cut]"]),
    "a window of 200,000": ("hermes --window 200k", "", {"AGENTS.md": MANY * 2}, []),
    "a window of 2,000,000": ("hermes --window 2000k", "", {"AGENTS.md": MANY * 25}, ["AGENTS.md:1: error [host-cut]"]),
    "no CLAUDE.md": ("claude-code", "", {"AGENTS.md": "A\n"}, []),
    "CLAUDE.md above": (
        "claude-code",
        "sub",
        {"CLAUDE.md": "C\n", "sub/AGENTS.md": "A\n"},
        ["sub/AGENTS.md: note [host-unread]"],
    ),
    "CLAUDE.md below": (
        "claude-code",
        "",
        {"AGENTS.md": "A\n", "a/CLAUDE.md": "@AGENTS.md\n", "a/AGENTS.md": "B\n", "a/b/AGENTS.md": "C\n"},
        ["a/b/AGENTS.md: note [host-unread]"],
    ),
    "a long CLAUDE.md": ("claude-code", "", MEMORY, []),
    **{
        f"MEMORY.md of {name}": ("claude-code --host-file m/MEMORY.md", "", {**MEMORY, "m/MEMORY.md": text}, found)
        for name, text, found in [
            ("200 lines", "- x\n" * 200, []),
            ("201 lines", "- x\n" * 201, ["m/MEMORY.md:201: error [host-cut]"]),
            ("25,000 letters", "港" * 25_000, []),
            ("12,500 letters of two units", "😀" * 12_500, []),
            ("12,501 letters of two units", "😀" * 12_501, ["m/MEMORY.md:1: error [host-cut]"]),
            ("200 lines between blank ones", "\n\n\n" + "- x\n" * 200 + "\n\n", []),
        ]
    },
    "12,000 characters of a rule": (
        "antigravity",
        "",
        {".agents/rules/a.md": "---\ntrigger: always_on\n---\n" + "x" * 11_974},
        [".agents/rules/a.md:4: error [host-cut]"],
    ),
    "a rule that the agent asks for": (
        "antigravity",
        "",
        {".agents/rules/a.md": "---\ntrigger: model_decision\n---\n" + MANY},
        [],
    ),
    "240,000 characters": ("copilot", "", {".github/copilot-instructions.md": MANY * 12}, []),
}


@pytest.mark.parametrize("name", FACTS)
def test_findings_are_what_the_host_does(name: str, tmp_path: Path) -> None:
    words, session, texts, found = FACTS[name]
    done = check(files(tmp_path, {".git/HEAD": "", **texts}) / session, "--host", *words.split())
    assert [" ".join(each) for each in codes(done)] == found
    assert done.code == int("error" in str(found))


ALWAYS, SOME = (
    "---\nalwaysApply: true\ntrigger: always_on\napplyTo: '*'\n---\n",
    "---\nglobs: '*.py'\napplyTo: sub/*.py\n---\n",
)
RULES = [".agents/rules/a.md", ".agents/rules/b.md", ".cursor/rules/a.mdc", ".cursor/rules/b.mdc"]
RULES += ["sub/.cursor/rules/c.mdc"]
INSTRUCTIONS = [".github/instructions/a.instructions.md", ".github/instructions/b.instructions.md"]
FILES = ["AGENTS.md", "CLAUDE.md", "GEMINI.md", ".github/copilot-instructions.md", ".claude/rules/c.md"]
BELOW = [*(f"sub/{name}" for name in FILES[:4]), "sub/.github/instructions/s.instructions.md"]
TREE = {
    name: "Read me: @docs/a.md\n" if name == "AGENTS.md" else "Text\n"
    for name in [*FILES, *BELOW, "docs/a.md", "sub/x.py"]
}
TREE |= {name: (SOME if "/b." in name else ALWAYS) + "Rule\n" for name in (*RULES, *INSTRUCTIONS)}

LOADED: Mapping[str, tuple[list[str], list[str], list[str]]] = {
    # Files of the tree that are loaded in the top folder, what comes once sub/x.py is touched, and the files in `sub`.
    "claude-code": ([FILES[1], FILES[4]], [BELOW[1]], [FILES[1], FILES[4], BELOW[1]]),
    "codex": ([FILES[0]], [], [FILES[0], BELOW[0]]),
    "gemini": ([FILES[2]], [], [FILES[2], BELOW[2]]),
    "hermes": ([FILES[0]], BELOW[:2], [FILES[0], BELOW[0]]),
    "openclaw": ([FILES[0]], [], [BELOW[0]]),
    # As 1.0.102 did on 2026-11-23; it was not seen with a file that is touched.
    "copilot": (
        [*FILES, "docs/a.md", INSTRUCTIONS[0]],
        [INSTRUCTIONS[1]],
        [*FILES, "docs/a.md", INSTRUCTIONS[0], *BELOW],
    ),
    "cursor": ([FILES[0], RULES[2]], [BELOW[0], RULES[3], RULES[4]], [BELOW[0], RULES[4]]),
    "antigravity": ([FILES[0], FILES[2], RULES[0]], [RULES[1]], [FILES[0], FILES[2], BELOW[0], BELOW[2], RULES[0]]),
}


@pytest.mark.parametrize("host", HOSTS)
def test_host_loads_its_files_of_a_tree(host: str, tmp_path: Path) -> None:
    root = files(tmp_path, {".git/HEAD": "", **TREE})
    first, touched, below = LOADED[host]

    def loaded(folder: Path, *opened: str) -> list[str]:
        return sorted(file.path for file in read_host_files(load_host(host, "test"), str(folder), opened=opened).files)

    assert loaded(root) == sorted(first)
    assert loaded(root / "sub") == sorted(below)
    assert loaded(root, "sub/x.py") == sorted([*first, *touched])
    shown = inside("explain", "--host", host, "--open", "sub/x.py", cwd=root).out
    assert sorted(re.findall(r"^(\S+) +whole .* on demand", shown, re.MULTILINE)) == sorted(touched)


def test_files_that_git_ignores_are_not_those_of_folders_below(tmp_path: Path) -> None:
    texts = {f"{folder}/AGENTS.md": "Do.\n" for folder in (".github/ci", "a/b/c/d", "build", "node_modules/x")}
    root = files(tmp_path, {"AGENTS.md": "All.\n", **texts})
    pattern = (
        r"^note: Codex does not load (.*) when a session starts here; (?:it|each) is loaded when a session starts in"
    )
    assert re.findall(pattern, check(root, "--host", "codex").out, re.MULTILINE) == ["build/AGENTS.md"]
    git(root, "init", "-q")
    (root / ".gitignore").write_text("build\nnode_modules\n")
    listed = ".github/ci/AGENTS.md, a/b/c/d/AGENTS.md"
    assert re.findall(pattern, check(root, "--host", "codex").out, re.MULTILINE) == [listed]
    assert check(root / "a", "--host", "codex").out.count("a/b/c/d/AGENTS.md") == 1


def test_rules_of_folders_below_are_looked_at_with_and_without_git(tmp_path: Path) -> None:
    texts = {"a.mdc": ALWAYS + "A\n", "b/c.mdc": SOME + "B\n", "d.mdc": "D\n"}
    root = files(tmp_path, {f"x/.cursor/rules/{name}": text for name, text in texts.items()})
    files(root, {"x/.github/instructions/i.instructions.md": ALWAYS + "I\n"})
    found = (
        "note: Cursor does not load x/.cursor/rules/a.mdc when a session starts here; it is loaded when the agent works"
    )
    copilot = (
        "x/.github/instructions/i.instructions.md when a session starts here; it is loaded when a session starts in"
    )
    for _ in range(2):
        assert found in check(root, "--host", "cursor").out
        assert copilot in check(root, "--host", "copilot").out
        shown = inside("explain", "--host", "cursor", cwd=root).out
        assert re.search(r"x/.cursor/rules/b/c.mdc +on demand .* with files that match \*.py", shown)
        assert re.search(r"x/.cursor/rules/d.mdc +on demand .* if the agent or a person asks for it", shown)
        git(root, "init", "-q")


def test_only_so_many_folders_below_are_looked_at(tmp_path: Path) -> None:
    root = files(tmp_path, {"AGENTS.md": "A\n"} | {f"{number:03}/AGENTS.md": f"{number}\n" for number in range(102)})
    done = check(root, "--host", "codex")
    assert "000/AGENTS.md, 001/AGENTS.md" in done.out
    assert "and 90 more" in done.out
    assert "instruction files of 2 folders below the session's folder" in done.err


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
    assert "docs/a.md" in inside("explain", "--host", "claude-code", "--staged", cwd=root).out


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
