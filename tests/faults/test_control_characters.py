"""Control and hidden characters in every place that people fill in: none reaches a stream; what scripts need does."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.command import fill, inside
from tests.workspaces import DAY, agent, build, log

EVIL = "\x1b[2J\x1b]52;c;aGk=\x07\x9b31m\x08\x7f\u202e\U000e0041"
"""A terminal is cleared, its clipboard set, its text coloured and taken back; text runs backwards, a tag is hidden."""
COMMAND = "\n::error file=a,line=1::evil"
"""A line that GitHub would take for a command."""
ESCAPED = r"\e[2J\a\x9b31m\b\x7f\u202e\n::error::evil"
"""The same in the escapes of YAML."""
NAME = f"evil{EVIL}{COMMAND}"

CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]")

SETTINGS = f"""
date: 2025-03-14
layers:
  - {{id: L7, heading: "Pages{ESCAPED}", path: ["agents/{{agent}}/*.md", "a{ESCAPED}/b.md"]}}
rules:
  - name: "rule{ESCAPED}"
    when: [{{field: agent, op: eq, value: "a{ESCAPED}"}}]
    then: {{exclude: ["x{ESCAPED}.md"]}}
outputs:
  - {{file: "out{ESCAPED}.md"}}
"""


def evil_workspace(folder: Path, settings: str = "date: 2025-03-14\n") -> Path:
    """A workspace with such characters in each text, in names of files and folders, and in escapes of JSON and YAML."""
    text = f"Words {EVIL} and more{COMMAND}\rback\u2028next\n"
    event = json.dumps({"type": f"turn{EVIL}", "id": EVIL, "content": f"{EVIL}{COMMAND}", "time": EVIL + COMMAND})
    root = fill(
        folder,
        {
            "ctxasm.yaml": settings,
            "agents/a/KNOWLEDGE.md": text,
            "agents/a/daily/2025-03-14.md": text,
            "agents/a/memories/m.md": f"- [fact{EVIL}] {text}  {{id=m{EVIL} tags={EVIL}}}\n- {{x={EVIL}}}\n",
            "agents/a/memories/n.md": f"---\ntype: fact{EVIL}\nimportance: {EVIL}\nid: m{EVIL}\n---\n{text}",
            "sessions/s.jsonl": f"{event}\n{{{EVIL}\n",
            "tasks.yaml": f'tasks:\n  - {{id: "t{ESCAPED}", goal: "g{ESCAPED}", status: "s{ESCAPED}"}}\n',
            "graph/entities.yaml": f'- {{name: "n{ESCAPED}", type: "t{ESCAPED}"}}\n- "{ESCAPED}"\n',
        },
    )
    for place in ("agents/a/memories", "agents/a/daily", "agents", "rules", "."):
        (root / place).mkdir(exist_ok=True)
        for name, data in ((NAME, b"\xff" + NAME.encode()), (f"::error::{NAME}", NAME.encode())):
            (root / place / f"{name}.md").write_bytes(data)
    return root


WORDS = (
    *(("build",), ("build", "-v", "--explain"), ("build", "-f", "json"), ("build", "-f", "xml")),
    *(("build", "-f", "messages"), ("build", "--manifest", "-", "-o", "/dev/null"), ("build", "-p", "query")),
    *(("explain",), ("explain", "-v"), ("explain", "--json"), ("plan",), ("check",), ("check", "--format", "json")),
    *(
        ("check", "--format", "github"),
        ("check", "--format", "sarif"),
        ("search", "words"),
        ("rules",),
        ("rules", "eval"),
    ),
    *(("config", "--origin"), ("task", "show"), ("lock",), ("diff", "@1k", "@90"), ("profiles",), ("tokenizers",)),
    *(("build", "-a", f"a{EVIL}{COMMAND}"), ("build", "-t", f"t{EVIL}{COMMAND}"), ("build", "--topic", EVIL + COMMAND)),
    *(("build", "-p", f"p{EVIL}{COMMAND}"), ("build", "-b", f"1{EVIL}{COMMAND}"), ("build", "--date", EVIL + COMMAND)),
    *(("show", f"m{EVIL}{COMMAND}"), ("explain", "--line", f"{EVIL}{COMMAND}:1"), ("replay", f"{EVIL}{COMMAND}")),
    *((f"bui{EVIL}{COMMAND}",), ("build", f"--bu{EVIL}{COMMAND}"), ("diff", f"{EVIL}{COMMAND}", "@90")),
    *(("remember", f"Tide {EVIL}{COMMAND}"), ("log", f"Tide {EVIL}{COMMAND}"), ("task", "push", f"{EVIL}{COMMAND}")),
    *(("build", "-o", f"/nowhere/{EVIL}{COMMAND}"), ("check", "--baseline", f"/nowhere/{EVIL}{COMMAND}")),
    *(("init", f"x{EVIL}{COMMAND}/y"), ("build", "-w", f"/nowhere/{EVIL}{COMMAND}"), ("lock", "--date", COMMAND)),
)


@pytest.mark.parametrize("settings", ["date: 2025-03-14\n", SETTINGS], ids=["plain settings", "evil settings"])
@pytest.mark.parametrize("words", WORDS, ids=lambda words: " ".join(filter(str.isprintable, words)))
def test_no_control_character_reaches_a_stream(tmp_path: Path, words: tuple[str, ...], settings: str) -> None:
    """P20: from text, names, YAML escapes or arguments; and no line of a message begins with a command of CI."""
    done = inside(*words, cwd=evil_workspace(tmp_path, settings))
    assert CONTROL.findall(done.out.replace("\t", "") + done.err) == []
    lines = [*done.err.split("\n"), *([] if is_content(words) else done.out.split("\n"))]
    assert [line for line in lines if line.lstrip().startswith("::")] == []
    assert "this is a bug" not in done.err


def is_content(words: tuple[str, ...]) -> bool:
    """Whether standard output is the document, which may hold any line, or commands that are meant."""
    return words[0] == "build" or "github" in words


def test_the_characters_are_where_they_may_come_through(tmp_path: Path) -> None:
    root = evil_workspace(tmp_path)
    seen = "".join(inside(*words, cwd=root).out for words in (("build",), ("check",), ("explain",)))
    for part in ("and more", "evil", "agents/a/memories/evil", "agents/a/daily/::error::evil"):
        assert part in seen, part
    assert "evil" in inside("build", "-a", f"a{EVIL}{COMMAND}", cwd=root).err


def test_github_findings_stay_in_their_line(tmp_path: Path) -> None:
    """P20: a name can't end the line of a command, nor begin another one."""
    done = inside("check", "--format", "github", cwd=evil_workspace(tmp_path))
    lines = done.out.splitlines()
    assert any("evil" in line for line in lines)
    assert all(re.match(r"::(error|warning|notice) file=[^:]*,|::(error|warning|notice) ?", line) for line in lines)
    assert not [line for line in lines if line.startswith("::error file=a,line=1::evil")]


USEFUL = (
    *(
        "\U0001f468\u200d\U0001f469\u200d\U0001f467",
        "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
    ),
    *("\U0001f1e9\U0001f1ea", "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", "\u0915\u094d\u200d\u0937"),
    *("\u05e9\u05dc\u05d5\u05dd", "\u845b\U000e0100", "\u2764\ufe0f", "1\ufe0f\u20e3", "hyphen\u00adation"),
)
"""Emoji, flags, Persian, Hindi, Hebrew, ideographs with a variant, a keycap, a soft hyphen."""
UNSEEN = ("\U000e0041\U000e0042", "\u202e", "\u2066", "\ufe01\ufe02", "\u200b", "\ufeff", "\u2063")


@given(
    st.lists(st.sampled_from(USEFUL), min_size=1, max_size=5), st.lists(st.sampled_from(UNSEEN), min_size=1, max_size=3)
)
def test_scripts_and_emoji_pass_and_hidden_characters_never_do(useful: list[str], unseen: list[str]) -> None:
    """P21: byte for byte and unwarned; tags, bidi controls, selectors and joiners between Latin letters are gone."""
    words = " ".join(useful)
    plain = build(agent(KNOWLEDGE=f"{words} end") | log(DAY, words))
    assert f"{words} end" in plain.text
    assert plain.problems == ()
    hidden = "x".join(unseen)
    context = build(agent(KNOWLEDGE=f"{words} endx{hidden}x") | log(DAY, words))
    assert f"{words} end" + "x" * (len(unseen) + 1) in context.text
    assert {problem.code for problem in context.problems} == {"hidden-text"}
