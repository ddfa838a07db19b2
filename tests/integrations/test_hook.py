"""`ctxasm hook`: one JSON object within the host's limit, whatever the event, the folder and the command line are."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from jsonschema import validate

from contextasm.config.hosts.loader import host_names, load_host
from contextasm.integrations.hook_parts import cut_text, split_text
from contextasm.selection.tokens import LENGTHS
from tests.command import LUNA, ROOT, SAMPLE, SMALL_TEXT, Result, clean, ctxasm, fill, inside, refused, shell

HOOKED = host_names(with_hook=True)
PROMPTS = {name: load_host(name, "test").hook.prompt for name in HOOKED}  # type: ignore[union-attr]
JAPANESE = "".join(
    f"## 規則 {number}\n{'港の霧は深く、灯台の明かりだけが頼りである。' * 12}\n\n" for number in range(80)
)

START: Mapping[str, str] = {"hook_event_name": "SessionStart"}
FERRY = {"agents/a/memories/m.md": "- [fact] The ferry leaves at nine\n"}

CODEX_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "continue": {"type": "boolean"},
        "hookSpecificOutput": {
            "type": "object",
            "additionalProperties": False,
            "required": ["hookEventName"],
            "properties": {
                "hookEventName": {"enum": ["SessionStart", "UserPromptSubmit"]},
                "additionalContext": {"type": "string"},
            },
        },
        "stopReason": {"type": "string"},
        "suppressOutput": {"type": "boolean"},
        "systemMessage": {"type": "string"},
    },
}
"""What Codex takes: it refuses unknown keys, and null where a text belongs."""

COMMAND: Mapping[str, Any] = {
    "type": "object",
    "required": ["type", "command"],
    "properties": {"type": {"const": "command"}, "command": {"type": "string", "minLength": 1}},
}
"""A hook that runs a command, as all three hosts describe it."""


def settings_schema(events: list[str], timeout: Mapping[str, Any], *, others: bool) -> Mapping[str, Any]:
    """What a host's schema says of the keys that are printed; `others` is whether it allows more of them in a hook."""
    command = {**COMMAND, "properties": {**COMMAND["properties"], "timeout": timeout}, "additionalProperties": others}
    group = {
        "type": "object",
        "required": ["hooks"],
        "properties": {"matcher": {"type": "string"}, "hooks": {"type": "array", "minItems": 1, "items": command}},
        "additionalProperties": False,
    }
    groups = {event: {"type": "array", "minItems": 1, "items": group} for event in events}
    hooks = {"type": "object", "properties": groups, "additionalProperties": False}
    return {"type": "object", "required": ["hooks"], "properties": {"hooks": hooks}, "additionalProperties": False}


SCHEMAS: Mapping[str, Mapping[str, Any]] = {
    "claude-code": settings_schema(
        ["SessionStart", "UserPromptSubmit"], {"type": "number", "exclusiveMinimum": 0}, others=False
    ),
    "codex": settings_schema(["SessionStart", "UserPromptSubmit"], {"type": "integer", "minimum": 0}, others=True),
    "gemini": settings_schema(["SessionStart", "BeforeAgent"], {"type": "number"}, others=True),
}
"""The parts of the published schemas that the printed settings use, in our own words.

The settings of every host, with one part and with three, were valid on 2026-11-22 by the schemas themselves:
`claude-code-settings.json` and `codex-hooks.json` of SchemaStore/schemastore at 3b6446ad8a07 (2026-08-07), and
`schemas/settings.schema.json` of google-gemini/gemini-cli at 5411f113cafa (2026-08-21). The answers were valid by
`session-start` and `user-prompt-submit.command.output.schema.json` of openai/codex at 658d027e987c and 6fff509bb33f.
Codex counts `timeout` in whole seconds, Claude Code in seconds, Gemini CLI in milliseconds; Claude Code alone refuses
other keys in a hook, and the root of Codex' file holds nothing but `hooks`.
"""


def hook(event: Mapping[str, Any] | str, *words: str | Path, cwd: Path | str = "/") -> Mapping[str, Any]:
    """The answer to an event; it is always one that every host takes, and the exit code is 0."""
    done = inside("hook", *words, cwd=cwd, stdin=event if isinstance(event, str) else json.dumps(event))
    return answer(done)


def answer(done: Result) -> Mapping[str, Any]:
    assert done.code == 0, done.err
    assert done.out.count("\n") == 1
    value: Mapping[str, Any] = json.loads(done.out)
    if value.get("hookSpecificOutput", {}).get("hookEventName") != "BeforeAgent":
        validate(value, CODEX_SCHEMA)
    return value


def start(*words: str | Path, cwd: Path | str = "/") -> str:
    """The context at the start of a session; empty for none."""
    return context(hook({"hook_event_name": "SessionStart", "source": "startup"}, *words, cwd=cwd))


def context(value: Mapping[str, Any]) -> str:
    """The text for the model; empty for none."""
    return str(value.get("hookSpecificOutput", {}).get("additionalContext", ""))


@pytest.mark.parametrize("host", [(), *(("--for", name) for name in HOOKED)], ids=str)
def test_small_context_is_that_of_build(host: tuple[str, ...], tmp_path: Path) -> None:
    fill(tmp_path, {})
    value = hook({"hook_event_name": "SessionStart", "cwd": str(tmp_path)}, *host)
    assert value == {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": SMALL_TEXT}}


@pytest.mark.parametrize("host", HOOKED)
@pytest.mark.parametrize("workspace", ["sample", "japanese", "emoji"])
def test_start_keeps_to_the_limit_of_the_host(host: str, workspace: str, tmp_path: Path) -> None:
    words: tuple[str | Path, ...] = LUNA
    if workspace != "sample":
        knowledge = JAPANESE if workspace == "japanese" else "😀 a smile a day\n\n" * 4_000
        words = ("-w", fill(tmp_path, {"agents/a/KNOWLEDGE.md": knowledge}), "-a", "a")
    text = start("--for", host, *words)
    units = len(text.encode()) if host == "codex" else len(text.encode("utf-16-le")) // 2
    assert 8_000 < units <= 10_000


def test_without_a_host_the_answer_suits_all(tmp_path: Path) -> None:
    fill(tmp_path, {"agents/a/KNOWLEDGE.md": JAPANESE})
    assert 8_000 < len(start(cwd=tmp_path).encode()) <= 10_000


def test_own_budget_and_own_limit_are_kept(tmp_path: Path) -> None:
    root = fill(tmp_path, {"agents/a/KNOWLEDGE.md": "Word for word.\n\n" * 2_000, "ctxasm.yaml": "budget: 500\n"})
    assert 1_000 < len(start("--for", "gemini", cwd=root)) <= 2_000
    assert len(start("--for", "gemini", "--limit", "400", cwd=root)) <= 400
    (root / "ctxasm.yaml").write_text("budget: 1000\ntokenizer: chars\n")
    assert len(start("--for", "gemini", cwd=root)) <= 1_000


@pytest.mark.parametrize("host", HOOKED)
def test_parts_joined_are_one_context(host: str) -> None:
    parts = [start("--for", host, "--part", f"{number}/3", *LUNA) for number in (1, 2, 3)]
    texts = []
    for number, part in enumerate(parts, start=1):
        assert len(part.encode() if host == "codex" else part) <= 10_000
        lead, blank, text = part.partition("\n\n")
        assert (lead, blank) == (f"Part {number} of 3 of the context of this workspace:", "\n\n")
        texts.append(text)
    whole = "".join(texts)
    assert len(whole) > 20_000
    assert whole.startswith("## Identity\n")
    assert whole.count("\n## ") >= 5


@pytest.mark.parametrize(("host", "parts"), [("claude-code", 1), ("gemini", 2), ("gemini", 3)])
def test_parts_joined_are_what_build_writes(host: str, parts: int, tmp_path: Path) -> None:
    shutil.copytree(SAMPLE, tmp_path / "latin")
    for file in (tmp_path / "latin").rglob("*.md"):
        # A host counts characters, and the estimate counts as many of Latin text alone.
        file.write_text(re.sub("[\u2e80-\uffff]", "x", file.read_text(encoding="utf-8")), encoding="utf-8")
    latin = ("-w", str(tmp_path / "latin"), "-a", "luna", "-t", "q1")
    texts = [start("--for", host, "--part", f"{number}/{parts}", *latin) for number in range(1, parts + 1)]
    lead = len(f"Part 1 of {parts} of the context of this workspace:\n\n") if parts > 1 else 0
    joined = "".join(text[lead:] for text in texts)
    budget = (10_000 - lead) * parts // 4
    built = []
    for _ in range(8):
        built.append(inside("build", "-q", "-b", str(budget), *latin).out)
        budget = budget * 97 // 100
    assert joined in built


def test_prompt_is_answered_by_the_first_part_alone(tmp_path: Path) -> None:
    root = fill(tmp_path, FERRY)
    event = {"hook_event_name": "UserPromptSubmit", "prompt": "the ferry"}
    assert "nine" in context(hook(event, "--part", "1/2", cwd=root))
    assert hook(event, "--part", "2/2", cwd=root) == {}


def test_message_is_short_and_clean(tmp_path: Path) -> None:
    value = hook(START, "-w", "/no/" + "such folder/" * 80, cwd=tmp_path)
    assert 400 < len(value["systemMessage"]) <= 500
    value = hook(START, "-w", "/no/\x1b[31mred\u202e\u200b\nfolder", cwd=tmp_path)
    assert not set("\x1b\u202e\u200b\n") & set(value["systemMessage"])


def test_hook_that_is_terminated_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("contextasm.cli.commands.hook.read_stdin", lambda *_: os.kill(os.getpid(), signal.SIGTERM))
    before = signal.getsignal(signal.SIGTERM)
    try:
        done = inside("hook", cwd=fill(tmp_path, {}), stdin="{}")
    finally:
        signal.signal(signal.SIGTERM, before)
    assert (done.code, done.out) == (143, "")


def test_layer_within_one_that_the_host_loads_has_its_room(tmp_path: Path) -> None:
    profile = """layers:
  - {id: outer, heading: Outer, source: files, path: AGENTS.md, max_tokens: 150}
  - {id: inner, heading: Inner, source: files, path: MORE.md, within: outer}
"""
    texts = {"AGENTS.md": "Be brief.\n", "MORE.md": "Read more.\n", "mine.yaml": profile}
    root = fill(tmp_path, {**texts, "ctxasm.yaml": "profile: mine.yaml\n"}, base={})
    text = start("--for", "codex", cwd=root)
    assert "Be brief" not in text
    assert "Read more." in text


def test_required_layers_that_are_too_large_are_cut_and_told(tmp_path: Path) -> None:
    root = fill(tmp_path, {"agents/a/IDENTITY.md": "I am a long story.\n" * 2_000})
    value = hook(START, "--for", "claude-code", cwd=root)
    assert len(context(value)) <= 10_000
    assert context(value).endswith("[cut here: the rest does not fit]\n")
    assert value["systemMessage"] == (
        "ctxasm: budget: required layers take 38,036 characters, and one hook holds 10,000: the rest is cut; "
        "shorten the files of these layers, or set 4 hooks up (--print-config HOST --part 1/4)"
    )


@pytest.mark.parametrize(
    "words", ["I am a long story. " * 2_000, "I am a long story.\n" * 2_000], ids=["line", "lines"]
)
def test_long_block_goes_on_in_the_next_part(words: str, tmp_path: Path) -> None:
    root = fill(tmp_path, {"agents/a/IDENTITY.md": words})

    def part(number: int, parts: int) -> Mapping[str, Any]:
        return hook(START, "--for", "codex", "--part", f"{number}/{parts}", cwd=root)

    cut = [part(number, 2) for number in (1, 2)]
    assert all(len(context(value)) > 9_900 for value in cut)
    assert "--part 1/4" in cut[0]["systemMessage"]
    assert "systemMessage" not in cut[1]
    whole = [part(number, 4) for number in (1, 2, 3, 4)]
    texts = [context(value).partition("\n\n")[2] for value in whole]
    assert "".join(texts) == f"## Identity\n{words.strip()}\n\n## Instructions\nDo it.\n"
    assert all(len(context(value).encode()) <= 10_000 for value in whole)
    assert "shorten" not in str(whole[0].get("systemMessage"))


def test_context_may_take_more_than_nine_hooks(tmp_path: Path) -> None:
    done = inside("hook", "--print-config", "codex", "--part", "1/12")
    commands = [entry["command"] for entry in json.loads(done.out)["hooks"]["SessionStart"][0]["hooks"]]
    root = fill(tmp_path, {"agents/a/IDENTITY.md": "I am a long story. " * 5_800})
    assert len(commands) == 12
    last = context(answer(inside(*commands[-1].split()[1:], cwd=root, stdin='{"hook_event_name": "SessionStart"}')))
    assert last.startswith("Part 12 of 12 of the context")


@pytest.mark.parametrize("host", HOOKED)
def test_prompt_gets_the_memories_that_match(host: str, tmp_path: Path) -> None:
    memories = "- [fact] The ferry leaves at nine\n- [fact] Always be kind {pin=true}\n- [fact] Cats sleep a lot\n"
    root = fill(tmp_path, {"agents/a/memories/m.md": memories})
    text = context(
        hook({"hook_event_name": PROMPTS[host], "prompt": "when does the ferry leave?"}, "--for", host, cwd=root)
    )
    assert "The ferry leaves at nine" in text
    assert not [words for words in ("Always be kind", "I am a.", "Cats") if words in text]


NOTES = {
    "SOUL.md": "Be kind.\n",
    "MEMORY.md": "# Memory\n\n- The ferry leaves at nine\n" + "".join(f"- Page {n} is a good one\n" for n in range(30)),
    "memory/2025-03-14.md": "".join(f"- Fixed page {n}, which looks good\n" for n in range(30)),
}


def test_prompt_gets_the_lines_that_match_of_the_file_of_memories(tmp_path: Path) -> None:
    root = fill(tmp_path, NOTES, base={})
    event = {"hook_event_name": "UserPromptSubmit", "prompt": "when does the ferry leave?"}
    assert context(hook(event, "--for", "codex", cwd=root)) == "## Memory\n- The ferry leaves at nine\n"


@pytest.mark.parametrize(
    "prompt", ["thanks, go on", "ok, looks good, please continue", "now rename the parser of this good module"]
)
def test_prompt_whose_words_match_nothing_well_gets_nothing(prompt: str, tmp_path: Path) -> None:
    root = fill(tmp_path, NOTES, base={})
    assert hook({"hook_event_name": "UserPromptSubmit", "prompt": prompt}, "--for", "codex", cwd=root) == {}


def test_host_that_loads_no_file_of_a_repository_gets_the_one_for_all(tmp_path: Path) -> None:
    texts = {".git/HEAD": "", "AGENTS.md": "Be brief. @docs/a.md\n", "docs/a.md": "More.\n", ".cursorrules": "Other.\n"}
    root = fill(tmp_path, texts, base={})
    assert "Be brief." in (text := start("--for", "gemini", cwd=root))
    assert "More." in text
    assert "Other." not in text


def test_prompt_of_gemini_is_taken_without_the_answers_that_it_puts_before(tmp_path: Path) -> None:
    root = fill(tmp_path, {"agents/a/memories/m.md": "- [fact] The ferry leaves at nine\n- [fact] Cats sleep a lot\n"})
    prompt = "<hook_context>Cats sleep\n\nvery much</hook_context>\n\n<hook_context>a cat</hook_context>\nwhich ferry?"
    text = context(hook({"hook_event_name": "BeforeAgent", "prompt": prompt}, "--for", "gemini", cwd=root))
    assert "The ferry leaves at nine" in text
    assert "Cats" not in text


@pytest.mark.parametrize(
    "prompt", ["", "zyzzyva", "-", "x" * 100_000, None, 7, {"ferry": 1}, ["ferry"]], ids=lambda prompt: repr(prompt)[:9]
)
def test_prompt_that_matches_nothing_gets_nothing(prompt: object, tmp_path: Path) -> None:
    root = fill(tmp_path, FERRY)
    assert hook({"hook_event_name": "UserPromptSubmit", "prompt": prompt}, "--for", "codex", cwd=root) == {}


@pytest.mark.parametrize("prompt", [r"\ud800 the ferry", r"the ferry \udfff", r"the\udc80 ferry\ud83d"])
def test_half_a_character_costs_a_prompt_no_memories(prompt: str, tmp_path: Path) -> None:
    root = fill(tmp_path, FERRY)
    event = f'{{"hook_event_name": "UserPromptSubmit", "prompt": "{prompt}", "session_id": "\\ud800"}}'
    assert "The ferry leaves at nine" in context(hook(event, "--for", "codex", cwd=root))


def test_answer_to_a_prompt_is_small(tmp_path: Path) -> None:
    memories = "".join(
        f"- [fact] The ferry number {number} leaves at nine, and 船は 9 時に出る\n" for number in range(200)
    )
    root = fill(tmp_path, {"agents/a/memories/m.md": memories})
    for host, size in (("codex", lambda text: len(text.encode())), ("claude-code", len)):
        event = {"hook_event_name": "UserPromptSubmit", "prompt": "the ferry"}
        assert 200 < size(context(hook(event, "--for", host, cwd=root))) <= 2_000


REVIEWED = {"SOUL.md": "I am a lamp.\n", "AGENTS.md": "Be brief.\n", "USER.md": "Ines.\n"}
OPENCLAW = {**REVIEWED, "CLAUDE.md": "I am a lamp.\n"}


@pytest.mark.parametrize(
    ("host", "lacks", "has"),
    [
        ("codex", "Be brief.", "I am a lamp."),
        ("claude-code", "I am a lamp.", "Be brief."),
        ("gemini", "nothing", "Be brief."),
    ],
)
def test_files_that_the_host_loads_by_itself_are_not_sent_again(
    host: str, lacks: str, has: str, tmp_path: Path
) -> None:
    root = fill(tmp_path, OPENCLAW, base={})
    text = start("--for", host, "-p", "openclaw", "-w", root, cwd=root)
    assert lacks not in text
    assert has in text
    assert "Ines." in text


def test_nothing_is_sent_where_the_host_loads_everything(tmp_path: Path) -> None:
    root = fill(tmp_path, {"AGENTS.md": "Be brief.\n"}, base={})
    assert hook(START, "--for", "codex", "-p", "openclaw", "-w", root, cwd=root) == {}


@pytest.mark.parametrize(
    ("host", "name", "words"),
    [("claude-code", "CLAUDE.md", "@AGENTS.md\n"), ("gemini", "GEMINI.md", "See @./AGENTS.md\n")],
)
def test_files_that_the_host_imports_are_not_sent_again(host: str, name: str, words: str, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    root = fill(tmp_path, {"AGENTS.md": "Be brief. @docs/more.md\n", "docs/more.md": "More.\n", name: words}, base={})
    assert hook(START, "--for", host, cwd=root) == {}
    (root / name).write_text(f"`{words.strip()}`\n")
    assert hook(START, "--for", host, cwd=root) == {}  # its file names no other
    text = start("--for", host, "-p", "repo", cwd=root)
    assert "Be brief." in text
    assert "More." in text


def test_imports_that_the_host_does_not_follow_are_sent(tmp_path: Path) -> None:
    texts = {
        ".git/HEAD": "",
        "CLAUDE.md": "See @docs/a.md. Also (@docs/b.md) and @docs/c.md\n",
        **{f"docs/{name}.md": f"This is {name}.\n" for name in "abc"},
    }
    text = start("--for", "claude-code", cwd=fill(tmp_path, texts, base={}))
    assert re.findall(r"This is (\w)\.", text) == ["a", "b"]


def test_files_of_other_programs_are_sent_only_if_the_profile_is_named(tmp_path: Path) -> None:
    texts = {
        ".git/HEAD": "",
        "CLAUDE.md": "Be brief.\n",
        "AGENTS.md": "Agents: @docs/more.md\n",
        "docs/more.md": "More.\n",
        ".cursorrules": "Cursor.\n",
        ".github/copilot-instructions.md": "Copilot.\n",
    }
    root = fill(tmp_path, texts, base={})
    assert hook(START, "--for", "claude-code", cwd=root) == {}
    assert "More." in start("--for", "codex", cwd=root)
    named = start("--for", "claude-code", "-p", "repo", cwd=root)
    assert [word in named for word in ("Be brief.", "Agents", "More.", "Cursor.", "Copilot.")] == [False, *[True] * 4]
    (root / "ctxasm.yaml").write_text("profile: repo\n")
    assert start("--for", "claude-code", cwd=root) == named


def test_an_import_from_the_home_is_silent_in_a_hook_and_a_note_in_check(tmp_path: Path) -> None:
    root = fill(tmp_path, {".git/HEAD": "", "CLAUDE.md": "Be brief.\n\n@~/.claude/mine.md\n"}, base={})
    assert hook(START, "--for", "claude-code", cwd=root) == {}
    checked = inside("check", cwd=root)
    assert checked.code == 0
    assert "CLAUDE.md:3: note: @~/.claude/mine.md leads out of the workspace, so it is not read" in checked.out


def test_imports_are_not_followed_for_a_host_that_does_not(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    texts = {"AGENTS.md": "Be brief: @docs/more.md\n", "CLAUDE.md": "See @docs/more.md\n", "docs/more.md": "More.\n"}
    root = fill(tmp_path, texts, base={})
    assert "More." in start("--for", "codex", cwd=root)


@pytest.mark.parametrize("profile", ["", "id: mine\nextends: repo\nlayers: [{id: instructions, required: true}]\n"])
@pytest.mark.parametrize("folder", ["", "src/deep"])
def test_text_that_only_an_import_names_is_sent_to_a_host_that_follows_none(
    folder: str, profile: str, tmp_path: Path
) -> None:
    (tmp_path / "src/deep").mkdir(parents=True)
    texts = {
        ".git/HEAD": "",
        "AGENTS.md": "Be brief: @docs/more.md\n",
        "docs/more.md": "More: @deep.md\n",
        "docs/deep.md": "Deep.\n",
    }
    if profile:
        texts |= {"mine.yaml": profile.replace("id: mine\n", ""), "ctxasm.yaml": "profile: mine.yaml\n"}
    root = fill(tmp_path, texts, base={})
    text = start("--for", "codex", cwd=root / folder)
    assert "Be brief" not in text
    assert "More: @deep.md" in text
    assert "Deep." in text
    (root / "GEMINI.md").write_text("@AGENTS.md\n")
    assert hook(START, "--for", "gemini", cwd=root / folder) == {}


def test_without_a_host_only_what_all_of_them_load_is_left_out(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    root = fill(tmp_path, {"CLAUDE.md": "Be brief.\n", "AGENTS.md": "Be brief.\n"}, base={})
    assert "Be brief." in start(cwd=root)
    (root / "GEMINI.md").write_text("Be brief.\n")
    assert start(cwd=root) == ""


def test_private_memories_are_sent_to_the_person(tmp_path: Path) -> None:
    root = fill(tmp_path, {"agents/a/memories/m.md": "- [fact] Fears the sea {private=true}\n"})
    assert "Fears the sea" in start(cwd=root)
    (root / "ctxasm.yaml").write_text("audience: shared\n")
    assert "Fears the sea" not in start(cwd=root)


@pytest.mark.parametrize(
    "event",
    [
        "",
        "x",
        "[]",
        "{}",
        "null",
        '{"hook_event_name": 1}',
        '{"hook_event_name": "Stop"}',
        "{" * 5_000,
        '"\\ud800"',
        '{"hook_event_name": "\\ud800"}',
        "NaN",
    ],
    ids=lambda event: event[:30] or "nothing",
)
def test_what_is_no_event_is_told_and_stops_nothing(event: str, tmp_path: Path) -> None:
    value = hook(event, cwd=fill(tmp_path, {}))
    assert list(value) == ["systemMessage"]
    assert value["systemMessage"].startswith("ctxasm: error: ")


@pytest.mark.parametrize(
    "words",
    [
        ("--for", "nobody"),
        ("--for", "openclaw"),
        ("--part", "3/2"),
        ("--part", "x"),
        ("--limit", "10"),
        ("--limit", "many"),
        ("--no-such-option",),
        ("-a", "nobody"),
        ("-w", "/no/such/folder"),
        ("-p", "nothing"),
    ],
    ids=" ".join,
)
def test_command_line_that_is_wrong_is_told_and_stops_nothing(words: tuple[str, ...], tmp_path: Path) -> None:
    value = hook({"hook_event_name": "UserPromptSubmit", "prompt": "hello there"}, *words, cwd=fill(tmp_path, {}))
    assert list(value) == ["systemMessage"]


@pytest.mark.parametrize("event", ["SessionStart", "UserPromptSubmit"])
def test_project_that_is_no_workspace_gets_nothing(event: str, tmp_path: Path) -> None:
    done = inside("hook", cwd=tmp_path, stdin=json.dumps({"hook_event_name": event, "prompt": "the ferry"}))
    assert (answer(done), done.err) == ({}, "")
    value = hook({"hook_event_name": event, "prompt": "the ferry"}, "-w", "missing", cwd=tmp_path)
    assert "missing: does not exist" in value["systemMessage"]


def in_a_folder_that_is_gone(folder: Path, event: Mapping[str, Any], *words: str | Path) -> Mapping[str, Any]:
    script = 'mkdir gone && cd gone && rmdir ../gone && exec "$@"'
    return answer(shell(script, "hook", "--for", "claude-code", *words, cwd=folder, stdin=json.dumps(event)))


def test_current_folder_that_is_gone_is_no_hindrance(tmp_path: Path) -> None:
    root = fill(tmp_path / "workspace", {})
    assert context(in_a_folder_that_is_gone(tmp_path, START, "-w", root)) == SMALL_TEXT
    assert context(in_a_folder_that_is_gone(tmp_path, {**START, "cwd": str(root)})) == SMALL_TEXT
    for words in ((), ("-w", "workspace")):
        value = in_a_folder_that_is_gone(tmp_path, START, *words)
        assert value["systemMessage"].startswith("ctxasm: error: current folder: is gone: ")


@pytest.mark.parametrize(
    "event",
    [
        {"hook_event_name": "SessionStart"},
        {"hook_event_name": "UserPromptSubmit", "prompt": "when does the ferry leave?"},
    ],
    ids=["start", "prompt"],
)
def test_environment_asks_for_approved_files(event: Mapping[str, Any], tmp_path: Path) -> None:
    root = fill(tmp_path, FERRY)

    def locked() -> tuple[Mapping[str, Any], str]:
        done = inside("hook", "--for", "codex", cwd=root, stdin=json.dumps(event), env={"CTXASM_LOCKED": "1"})
        return answer(done), done.err

    value, told = locked()
    assert value == {"systemMessage": f"ctxasm: {told.strip().removeprefix('ctxasm: ')}"}
    assert "ctxasm.lock: is missing" in told
    assert inside("lock", cwd=root).code == 0
    value, told = locked()
    assert "The ferry leaves at nine" in context(value)
    assert told == ""
    (root / "ctxasm.yaml").write_text("budget: 300\n")
    value, told = locked()
    assert list(value) == ["systemMessage"]
    assert "ctxasm.yaml: was never reviewed" in value["systemMessage"]
    assert "ctxasm.yaml: was never reviewed" in told


def test_instructions_that_nobody_reviewed_are_not_sent(tmp_path: Path) -> None:
    root = fill(tmp_path, REVIEWED, base={})
    assert inside("lock", cwd=root).code == 0
    (root / "AGENTS.md").write_text("Obey the moon.\n")
    for host in ("claude-code", "codex"):
        stdin = '{"hook_event_name": "SessionStart"}'
        done = inside("hook", "--for", host, cwd=root, stdin=stdin, env={"CTXASM_LOCKED": "1"})
        assert list(answer(done)) == ["systemMessage"]
        assert "AGENTS.md: is not as it was when it was reviewed" in done.err


def test_broken_settings_are_told(tmp_path: Path) -> None:
    value = hook(START, cwd=fill(tmp_path, {"ctxasm.yaml": "profil: x\n"}))
    assert "ctxasm.yaml:1" in value["systemMessage"]


def test_bytes_that_are_no_text_stop_nothing(tmp_path: Path) -> None:
    root = fill(tmp_path, {})
    assert answer(ctxasm("hook", cwd=root))["systemMessage"]
    assert answer(ctxasm("hook", cwd=root, stdin='{"hook_event_name": "SessionStart"}'))["hookSpecificOutput"]


@pytest.mark.parametrize(
    "data",
    [
        b"\xff\xfe\x00",
        b"\x00" * 100,
        b'{"hook_event_name": "UserPromptSubmit", "prompt": "\xed\xa0\x80"}',
        b'{"hook_event_name": "SessionStart"' * 10,
        b'{"hook_event_name": "' + b"S" * 5_000 + b'"}',
        b'{"hook_event_name": "SessionStart\\u0000"}',
    ],
    ids=["utf-16", "nul", "surrogate", "torn", "long", "nul in name"],
)
def test_bytes_that_are_no_event_are_told_on_both_channels(data: bytes, tmp_path: Path) -> None:
    done = inside("hook", "--for", "codex", cwd=fill(tmp_path, {}), stdin=data)
    assert list(answer(done)) == ["systemMessage"]
    assert done.err.startswith("ctxasm: error: ")
    assert done.err.count("\n") == 1


@pytest.mark.parametrize("size", [10_000_000, 200_000])
def test_a_prompt_of_any_size_is_answered(size: int, tmp_path: Path) -> None:
    root = fill(tmp_path, FERRY)
    event = {"hook_event_name": "UserPromptSubmit", "prompt": "the ferry \0 " + "x" * size}
    assert "The ferry leaves at nine" in context(hook(event, "--for", "codex", cwd=root))


def test_event_folder_that_is_gone_is_the_current_one(tmp_path: Path) -> None:
    root = fill(tmp_path, {})
    for folder in ("/no/such/folder", 7, "\0", str(root / "agents/a/IDENTITY.md")):
        value = hook({"hook_event_name": "SessionStart", "cwd": folder}, cwd=root)
        assert context(value) == SMALL_TEXT


@pytest.mark.parametrize("host", HOOKED)
def test_printed_settings_call_the_hook(host: str) -> None:
    done = inside("hook", "--print-config", host, "-a", "luna", "-t", "q1", "--part", "1/2")
    settings = json.loads(done.out)
    validate(settings, SCHEMAS[host])
    assert load_host(host, "test").hook.settings in done.err  # type: ignore[union-attr]
    assert list(settings["hooks"]) == ["SessionStart", PROMPTS[host]]
    for event, groups in settings["hooks"].items():
        commands = [entry["command"] for group in groups for entry in group["hooks"]]
        assert len(commands) == (2 if event == "SessionStart" else 1)
        for command in commands:
            name, *words = command.split()
            assert name == "ctxasm"
            stdin = json.dumps({"hook_event_name": event, "cwd": str(SAMPLE), "prompt": "the date of the demo"})
            assert context(answer(inside(*words, stdin=stdin)))


def test_printed_settings_keep_every_option() -> None:
    names = set(re.findall(r"^ .*?(--[\w-]+)", inside("hook", "--help").out, re.MULTILINE)) - {"--help", "--offline"}
    typed = {name: name.strip("-") for name in names - {"--for", "--limit", "--part", "--print-config"}}
    typed |= {"--team": "", "--limit": "5000", "--part": "1/2"}
    done = inside("hook", "--offline", "--print-config", "codex", *(word for pair in typed.items() for word in pair))
    hooks = json.loads(done.out)["hooks"]
    commands = [shlex.split(entry["command"]) for group in hooks["SessionStart"] for entry in group["hooks"]]
    assert len(typed) == 8
    for part, words in zip(("1/2", "2/2"), commands, strict=True):
        values = [word for word in words[2:] if word != "--offline"]
        assert len(values) == len(words[2:]) - 1
        pairs = dict(zip(values[::2], values[1::2], strict=True))
        assert pairs == {**typed, "--for": "codex", "--part": part}
    (prompt,) = (shlex.split(entry["command"]) for group in hooks["UserPromptSubmit"] for entry in group["hooks"])
    assert prompt == commands[0][:-2]


@pytest.mark.parametrize("words", [("--print-config", "NAME"), ("--print-config=NAME",)], ids=len)
@pytest.mark.parametrize(
    ("name", "what"),
    [("emacs", "unknown host emacs"), ("hermes", "hermes has no hook that takes a context")],
)
def test_settings_of_no_host_are_refused(words: tuple[str, ...], name: str, what: str) -> None:
    done = inside("hook", *(word.replace("NAME", name) for word in words))
    assert (done.code, done.out) == (2, "")
    assert done.err == f"ctxasm: error: --print-config: {what}: choose one of: {', '.join(HOOKED)}\n"


def test_settings_of_a_host_without_such_a_hook_say_what_to_do_instead() -> None:
    done = inside("hook", "--print-config", "openclaw")
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert "no hook that takes a context: it reads its own files" in done.err
    assert "ctxasm check --host openclaw" in done.err
    assert "openclaw mcp set ctxasm" in done.err


def test_settings_of_a_host_by_half_its_name_name_the_host() -> None:
    refused(inside("hook", "--print-config", "claude"), "unknown host claude: did you mean claude-code?")


ACCENTS = "X" + "e\u0301\u0302" * 12_000
FAMILIES = "\N{MAN}\u200d\N{WOMAN}\u200d\N{GIRL}\u200d\N{BOY}" * 3_000


@pytest.mark.parametrize(
    ("words", "letter"),
    [("word " * 9_000, "word"), (ACCENTS, "e\u0301\u0302"), (FAMILIES, FAMILIES[:7])],
    ids=["words", "accents", "families"],
)
def test_what_is_too_large_is_cut_behind_a_word_or_a_letter(words: str, letter: str, tmp_path: Path) -> None:
    root = fill(tmp_path, {"agents/a/IDENTITY.md": words})
    shown = start("--for", "gemini", cwd=root).removesuffix("\n[cut here: the rest does not fit]\n")
    assert len(shown.encode("utf-16-le")) > 2 * 9_900
    assert shown.endswith(letter)
    parts = [start("--for", "gemini", "--part", f"{number}/5", cwd=root).partition("\n\n")[2] for number in range(1, 6)]
    assert words.strip() in "".join(parts)
    assert all(part.strip().endswith(letter) for part in parts[:3])


def test_split_ends_parts_before_blocks() -> None:
    count = LENGTHS["chars"].units
    text = "# A\none two\n\n# B\nthree\n\n" + "x" * 25 + "\nlast\n"
    assert split_text(text, 16, count) == ["# A\none two\n\n", "# B\nthree\n\n", "x" * 16, "x" * 9 + "\nlast\n"]
    assert split_text("", 10, count) == []
    assert cut_text("short", 10, count) == "short"
    assert cut_text("a" * 50, 10, count) == ""


README = (ROOT / "README.md").read_text(encoding="utf-8").partition("\n## With your agent\n")[2].partition("\n## ")[0]
LINES = [line for block in re.findall(r"```sh\n(.*?)```", README, re.DOTALL) for line in block.splitlines()]


@pytest.mark.parametrize("line", LINES)
def test_line_of_the_readme_works(line: str, tmp_path: Path) -> None:
    root = shutil.copytree(SAMPLE, tmp_path / "workspace")
    (root / "MEMORY.md").write_text("- One\n")
    done = shell(f'ctxasm() {{ "{sys.executable}" -m contextasm "$@"; }}\n{line}\n', cwd=root)
    assert done.code == 0, done.err
    assert done.out
    if line.startswith("echo"):
        assert context(json.loads(done.out))


def test_python_of_the_readme_works(tmp_path: Path) -> None:
    (block,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    shutil.copytree(SAMPLE, tmp_path / "sample_workspace")
    words = [sys.executable, "-c", block]
    done = subprocess.run(words, cwd=tmp_path, env=clean(), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("## Identity\n")


def test_help_lists_the_hosts_that_have_hooks() -> None:
    words = " ".join(inside("hook", "--help").out.split()).replace("- ", "-")
    assert f"{', '.join(HOOKED[:-1])} or {HOOKED[-1]} (default: suit all of them)." in words


def test_readme_shows_lines_to_paste() -> None:
    assert [name for name in HOOKED if not any(f"--print-config {name}" in line for line in LINES)] == []
