"""The answer to a hook keeps to every host's limit, and its parts are one text, for random workspaces and texts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import regex
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from contextasm.config.hosts.loader import host_names
from contextasm.config.input.options import Options, ProcessEnvironment
from contextasm.integrations.hook import answer_event, hook_call
from contextasm.integrations.hook_parts import CUT_MARKER, cut_text, split_text
from contextasm.selection.tokens import LENGTHS
from tests.command import fill, inside
from tests.workspaces import Content, workspaces

OPTIONS = Options(agent="luna", team="writers", date="2025-03-14")
PARTS = 3
LUNA_FILES = {"agents/luna/IDENTITY.md": "I am Luna.\n", "agents/luna/INSTRUCTIONS.md": "Go.\n"}
GOALS = {"teams/writers/GOALS.md": "Write.\n"}


def answer(root: Path, host: str, event: Mapping[str, str], part: int, limit: int | None) -> str:
    """The text for the model; empty for none."""
    call = hook_call(host, OPTIONS, limit, f"{part}/{PARTS}" if part else None)
    process = ProcessEnvironment({"CTXASM_NO_CACHE": "1", "HOME": str(root)}, str(root), lambda: 0.0)
    written: list[str] = []
    answer_event(json.dumps(event), call, process, written.append)
    value = json.loads(written[0])
    assert set(value) <= {"hookSpecificOutput", "systemMessage"}
    return str(value.get("hookSpecificOutput", {}).get("additionalContext", ""))


def units(host: str, text: str) -> int:
    return len(text.encode()) if host == "codex" else len(text.encode("utf-16-le")) // 2


@given(
    files=workspaces(),
    long=st.integers(0, 400),
    host=st.sampled_from(host_names(standard=True)),
    limit=st.one_of(st.none(), st.integers(200, 3_000)),
)
def test_no_answer_is_above_the_limit_of_its_host(
    files: Mapping[str, Content], long: int, host: str, limit: int | None
) -> None:
    more = {**GOALS, "agents/luna/KNOWLEDGE.md": "Ein Satz, 日本語 und 😀 dazu.\n\n" * long}
    with TemporaryDirectory() as folder:
        root = Path(folder)
        fill(root, {**files, **more}, base={})
        most = min(limit or 10_000, 10_000)
        begin = {"hook_event_name": "SessionStart"}
        assert units(host, answer(root, host, begin, 0, limit)) <= most
        parts = [answer(root, host, begin, number, limit) for number in range(1, PARTS + 1)]
        assert max(units(host, part) for part in parts) <= most
        present = [bool(part) for part in parts]
        assert present == sorted(present, reverse=True)
        event = {"hook_event_name": "BeforeAgent" if host == "gemini" else "UserPromptSubmit", "prompt": "three acts"}
        assert units(host, answer(root, host, event, 0, limit)) <= min(most, 2_000)


@given(
    lines=st.lists(
        st.sampled_from(["```", "~~~~", "  ```py", "<!--", "-->", "<pre>", "a b c d e " * 8, "# A", ""]),
        min_size=8,
        max_size=40,
    ),
    limit=st.integers(200, 300),
    host=st.sampled_from(host_names(standard=True)),
)
def test_no_answer_ends_within_code_or_a_comment(lines: list[str], limit: int, host: str) -> None:
    with TemporaryDirectory() as folder:
        root = Path(folder)
        fill(
            root,
            {"agents/luna/IDENTITY.md": "\n".join(["I am Luna.", *lines, ""]), "agents/luna/INSTRUCTIONS.md": "Go.\n"}
            | GOALS,
        )
        text = answer(root, host, {"hook_event_name": "SessionStart"}, 0, limit)
    tokens = MarkdownIt().parse(f"{text}\n\n# The next text")
    assert [token.type for token in tokens[-3:]] == ["heading_open", "inline", "heading_close"]


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec=None), max_size=8),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=3,
)
names = st.sampled_from(
    ["SessionStart", "UserPromptSubmit", "BeforeAgent", "SubagentStart", "PreToolUse", "PreCompact"]
)
keys = st.sampled_from(
    ["prompt", "cwd", "session_id", "agent_type", "agent_id", "source", "tool_input", "transcript_path"]
)
inputs = st.dictionaries(st.sampled_from(["file_path", "path", "notebook_path"]), values, max_size=2)
torn = st.sampled_from([b"", b"}", b"\xff", b"\x00", b"[" * 9_000, b", 1" + b"0" * 5_000, b"\\ud800"])


@given(
    name=names | values,
    event=st.dictionaries(keys, values | inputs, max_size=5),
    tear=st.tuples(st.integers(0, 200), torn) | st.none(),
)
def test_any_event_gets_one_answer_and_exit_code_0(
    name: object, event: dict[str, object], tear: tuple[int, bytes] | None
) -> None:
    data = json.dumps({"hook_event_name": name, **event}).encode()
    data = data[: tear[0]] + tear[1] + data[tear[0] :] if tear else data
    with TemporaryDirectory() as place:
        root = fill(Path(place), {"agents/luna/memories/m.md": "- [fact] A ferry\n", **GOALS, **LUNA_FILES}, base={})
        done = inside("hook", "-w", root, cwd=root, stdin=data, env={"XDG_CACHE_HOME": f"{place}/cache"})
    assert (done.code, done.out.count("\n")) == (0, 1)
    answered = json.loads(done.out)
    assert set(answered) <= {"hookSpecificOutput", "systemMessage"}
    assert bool(done.err) == ("error: " in answered.get("systemMessage", ""))
    if not tear and isinstance(name, str) and name in {"SessionStart", "SubagentStart"}:
        assert "I am Luna." in answered["hookSpecificOutput"]["additionalContext"]


@given(
    text=st.lists(
        st.sampled_from(
            [*"ab \n#`-é日😀\t", "e\u0301\u0302", "\u0302", "\r\n", "\N{MAN}\u200d\N{WOMAN}\u200d\N{GIRL}", "z" * 9]
        )
    ).map("".join),
    limit=st.integers(4, 60),
    name=st.sampled_from(sorted(LENGTHS)),
)
def test_parts_joined_are_the_whole(text: str, limit: int, name: str) -> None:
    measure = LENGTHS[name].units
    parts = split_text(text, limit, measure)
    assert "".join(parts) == text
    assert all(part and measure(part) <= limit for part in parts)
    letters = [*regex.finditer(r"\X", text)]
    place = 0
    for part in parts[:-1]:
        place += len(part)
        letter = next(letter for letter in letters if letter.start() <= place < letter.end())
        assert letter.start() == place or measure(letter[0]) > limit
        assert measure(part) > limit - max(limit // 2, 4) or measure(part + letter[0]) > limit
    shown = cut_text(text, limit, measure)
    assert measure(shown) <= limit
    if shown != text and shown:
        room = limit - measure(CUT_MARKER)
        end = len(shown.removesuffix(CUT_MARKER))
        cut = [letter[0] for letter in letters if letter.start() < end < letter.end()]
        assert all(measure(letter) > room for letter in cut)
