"""`ctxasm hook`: one JSON object within the host's limit, whatever the event, the folder and the command line are."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from jsonschema import validate

from contextasm.config.hosts.loader import host_names, load_host
from contextasm.integrations.hook_parts import cut_text, split_text
from contextasm.selection.tokens import LENGTHS
from tests.command import LUNA, ROOT, SAMPLE, SMALL_TEXT, Result, ctxasm, fill, inside, shell

HOOKED = host_names(with_hook=True)
RULES = {name: rule for name in HOOKED if (rule := load_host(name, "test").hook)}
FORMS: Mapping[str, tuple[str, str, str, str]] = {
    # The key of the session's folder, the answer, the settings with one hook, and the event at a prompt, as recorded:
    # Copilot CLI 1.0.102 took them on 2026-11-23, the others are documented or were run by their users.
    "copilot": (
        '"hook_event_name": "SessionStart", "cwd": "ROOT"',
        '{"additionalContext": "TEXT"}',
        '{"version": 1, "hooks": {"SessionStart": [HOOK], "UserPromptSubmit": [HOOK], "PreCompact": [HOOK]}}'.replace(
            "HOOK", '{"type": "command", "bash": "LINE", "timeoutSec": 30}'
        ),
        '{"hook_event_name": "UserPromptSubmit", "prompt": "when does the ferry leave?", "session_id": "x"}',
    ),
    "cursor": (
        '"hook_event_name": "sessionStart", "workspace_roots": ["ROOT"]',
        '{"additional_context": "TEXT"}',
        '{"version": 1, "hooks": {"sessionStart": [{"command": "LINE", "timeout": 30}]}}',
        "",
    ),
    "antigravity": (
        '"conversationId": "x", "workspacePaths": ["ROOT"]',
        '{"injectSteps": [{"ephemeralMessage": "TEXT"}]}',
        '{"ctxasm": {"SessionStart": [{"type": "command", "command": "LINE", "timeout": 30}]}}',
        "",
    ),
}
STANDARD = [name for name in HOOKED if name not in FORMS]
JAPANESE = "".join(
    f"## 規則 {number}\n{'港の霧は深く、灯台の明かりだけが頼りである。' * 12}\n\n" for number in range(80)
)

STARTS = ("SessionStart", "SubagentStart")
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
                "hookEventName": {"enum": ["SessionStart", "UserPromptSubmit", "SubagentStart", "PreToolUse"]},
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


EVENTS: Mapping[str, list[str]] = {
    "claude-code": ["SessionStart", "UserPromptSubmit", "SubagentStart", "PreToolUse", "PreCompact"],
    "codex": ["SessionStart", "UserPromptSubmit", "SubagentStart", "PreCompact"],
    "gemini": ["SessionStart", "BeforeAgent", "PreCompress"],
}
"""The events of each host that are answered, in the order in which they are printed."""

SCHEMAS: Mapping[str, Mapping[str, Any]] = {
    "claude-code": settings_schema(EVENTS["claude-code"], {"type": "number", "exclusiveMinimum": 0}, others=False),
    "codex": settings_schema(EVENTS["codex"], {"type": "integer", "minimum": 0}, others=True),
    "gemini": settings_schema(EVENTS["gemini"], {"type": "number"}, others=True),
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
    if not {"additionalContext", "additional_context", "injectSteps"} & set(value) and "BeforeAgent" not in done.out:
        validate(value, CODEX_SCHEMA)
    return value


def start(*words: str | Path, cwd: Path | str = "/") -> str:
    """The context at the start of a session; empty for none."""
    host = str(words[words.index("--for") + 1]) if "--for" in words else "codex"
    return context(hook({"hook_event_name": RULES[host].start, "source": "startup"}, *words, cwd=cwd))


def context(value: Mapping[str, Any]) -> str:
    """The text for the model; empty for none."""
    (step,) = value.get("injectSteps", [{}])
    own = value.get("hookSpecificOutput", value).get("additionalContext", value.get("additional_context", ""))
    return str(step.get("ephemeralMessage", own))


@pytest.mark.parametrize("host", FORMS)
def test_host_gets_events_answers_and_settings_in_its_own_form(host: str, tmp_path: Path) -> None:
    root = fill(tmp_path, {"agents/a/memories/m.md": "- [fact] The ferry leaves at nine\n"})
    keys, form, settings, prompt = FORMS[host]
    event = f"{{{keys.replace('ROOT', str(root))}}}"
    value = hook(event, "--for", host)
    assert context(value).startswith(SMALL_TEXT)
    assert value == json.loads(form.replace('"TEXT"', json.dumps(context(value))))
    printed = inside("hook", "--print-config", host)
    assert json.loads(printed.out) == json.loads(settings.replace("LINE", f"ctxasm hook --for {host}"))
    assert "its hook limit is not documented; ctxasm sends at most 10,000 characters" in printed.err
    assert not prompt or "nine" in context(hook(prompt, "--for", host, cwd=root))


@pytest.mark.parametrize("host", [(), *(("--for", name) for name in STANDARD)], ids=str)
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


def test_limits_of_all_hosts_own_budget_and_own_limit_are_kept(tmp_path: Path) -> None:
    assert 8_000 < len(start(cwd=fill(tmp_path / "all", {"agents/a/KNOWLEDGE.md": JAPANESE})).encode()) <= 10_000
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
        "ctxasm: budget: required layers take 38,036 characters, but one hook holds 10,000, so the rest is cut; "
        "shorten the files of these layers, or set up 4 hooks (--print-config HOST --part 1/4)"
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


@pytest.mark.parametrize("host", STANDARD)
def test_prompt_gets_the_memories_that_match(host: str, tmp_path: Path) -> None:
    memories = "- [fact] The ferry leaves at nine\n- [fact] Always be kind {pin=true}\n- [fact] Cats sleep a lot\n"
    root = fill(tmp_path, {"agents/a/memories/m.md": memories})
    text = context(
        hook({"hook_event_name": RULES[host].prompt, "prompt": "when does the ferry leave?"}, "--for", host, cwd=root)
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


NOTHING = ["thanks, go on", "ok, looks good, please continue", "now rename the parser of this good module", "fery", ""]


@pytest.mark.parametrize("prompt", [*NOTHING, "zyzzyva", "-", "x" * 9_000, None, 7, {"ferry": 1}, ["ferry"]], ids=repr)
def test_prompt_whose_words_match_nothing_well_gets_nothing(prompt: object, tmp_path: Path) -> None:
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


HALVES = [r"\ud800 the ferry", r"the ferry \udfff", r"the\udc80 ferry\ud83d"]


@pytest.mark.parametrize(
    "prompt", [*HALVES, *(rf"the ferry \u0000 {'x' * size}" for size in (10_000_000, 200_000))], ids=len
)
def test_half_a_character_or_any_size_costs_a_prompt_no_memories(prompt: str, tmp_path: Path) -> None:
    root = fill(tmp_path, FERRY)
    event = f'{{"hook_event_name": "UserPromptSubmit", "prompt": "{prompt}", "session_id": "\\ud800"}}'
    assert "The ferry leaves at nine" in context(hook(event, "--for", "codex", cwd=root))


SESSION: Mapping[str, str] = {"session_id": "s"}
FERRIES = "- [fact] The ferry leaves at nine\n- [fact] Ferry tickets cost two coins\n"
ASK = {**SESSION, "hook_event_name": "UserPromptSubmit", "prompt": "when does the ferry leave?"}


def test_session_is_sent_nothing_twice_until_it_begins_anew(tmp_path: Path) -> None:
    old = "".join(f"- [fact] Lamp {number} is lit {{created=2025-01-0{number}}}\n" for number in range(1, 7))
    root = fill(tmp_path, {"agents/a/memories/m.md": FERRIES + old})
    begin, compact = {**SESSION, **START}, {**SESSION, "hook_event_name": "PreCompact"}

    def ferries(event: Mapping[str, Any], word: str = "ferry", **env: str) -> int:
        done = inside("hook", cwd=root, stdin=json.dumps(event), env={"XDG_CACHE_HOME": f"{root}/cache", **env})
        return context(answer(done)).lower().count(word)

    assert [ferries(event) for event in (begin, ASK, ASK, {**ASK, "session_id": "t"})] == [0, 2, 0, 2]
    assert [ferries({**ASK, "prompt": "lamp lit"}, "lamp") for _ in range(2)] == [1, 0]  # the start showed five of six
    for source, count in (("resume", 0), ("fork", 0), ("compact", 2), ("clear", 2), ("startup", 2)):
        assert [ferries({**begin, "source": source}), ferries(ASK)] == [0, count]
    (root / "agents/a/memories/m.md").write_text(FERRIES.replace("nine", "ten"))
    assert [ferries(ASK), ferries(ASK), ferries(compact), ferries(ASK)] == [1, 0, 0, 2]
    assert [ferries(begin), ferries(ASK)] == [2, 0]
    (folder,) = (root / "cache/ctxasm").glob("sessions")
    assert {file.stat().st_mode & 0o777 for file in folder.iterdir()} == {0o600}
    assert [ferries(ASK, CTXASM_NO_CACHE="1") for _ in range(2)] == [2, 2]
    folder.chmod(0o755)
    assert [ferries(ASK) for _ in range(2)] == [2, 2]


def test_what_a_rule_includes_is_in_the_start_only() -> None:
    asked = context(hook({"hook_event_name": "UserPromptSubmit", "prompt": "demo build status"}, *LUNA))
    assert ("demo" in asked, "## Pinned" in asked, "The demo build" in start(*LUNA)) == (True, False, True)


def test_only_what_is_written_counts_as_sent(tmp_path: Path) -> None:
    root = fill(tmp_path, {"agents/a/memories/m.md": FERRIES})
    env = {"XDG_CACHE_HOME": f"{root}/cache", "EVENT": json.dumps(ASK)}
    assert shell('printf "%s" "$EVENT" | "$@" >/dev/full', "hook", cwd=root, env=env).out == ""
    assert "The ferry leaves" in shell('printf "%s" "$EVENT" | "$@"', "hook", cwd=root, env=env).out


def test_a_part_of_a_start_notes_its_own_lines_only(tmp_path: Path) -> None:
    facts = "".join(
        f"- [fact] Ferry {number} leaves at {number} {{created=2025-01-0{number}}}\n" for number in range(1, 9)
    )
    knowledge = "".join(f"Paragraph {number} {'of the harbour ' * 20}\n\n" for number in range(60))
    root = fill(tmp_path, {"agents/a/KNOWLEDGE.md": knowledge, "agents/a/memories/m.md": facts})
    sent = [context(hook({**SESSION, **START}, "--part", f"{part}/2", cwd=root)) for part in (1, 2)]
    assert ["Ferry 8" in text for text in sent] == [True, False]
    ask = {**SESSION, "hook_event_name": "UserPromptSubmit", "prompt": "when does ferry 8 leave?"}
    assert "Ferry 8" not in context(hook(ask, cwd=root))
    hook({**SESSION, "hook_event_name": "PreCompact"}, cwd=root)
    assert "Ferry 8" in context(hook(ask, cwd=root))
    hook({**START, "session_id": "t"}, "--part", "2/2", cwd=root)
    assert "Ferry 8" in context(hook({**ask, "session_id": "t"}, cwd=root))


def test_of_hooks_at_the_same_time_one_sends_a_memory(tmp_path: Path) -> None:
    root = fill(tmp_path, {"agents/a/memories/m.md": FERRIES})
    script = 'for n in 1 2 3 4 5; do printf "%s" "$EVENT" | "$@" & done; wait'
    done = shell(script, "hook", cwd=root, env={"XDG_CACHE_HOME": f"{root}/cache", "EVENT": json.dumps(ASK)})
    assert sorted(map(len, done.out.splitlines())) == [2, 2, 2, 2, max(map(len, done.out.splitlines()))]
    assert "The ferry leaves" in done.out


def test_file_gets_its_rules_and_memories_once_a_session(tmp_path: Path) -> None:
    texts = {
        ".git/HEAD": "",
        "AGENTS.md": "Be brief.\n",
        "src/AGENTS.md": "Be nested.\n",
        ".cursor/rules/py.mdc": "---\nglobs: src/*.py\n---\nBe typed.\n",
        ".claude/rules/a.md": "---\npaths: src/**\n---\nBe loaded.\n",
        ".agents/memories.md": "- Keep it pure {files=src/a.py}\n- Not src/b.py\n- Other\n",
    }
    root = fill(tmp_path, texts, base={})
    event = {**SESSION, "hook_event_name": "PreToolUse", "tool_input": {"file_path": f"{root}/src/a.py"}}
    text = context(hook(event, "--for", "claude-code", cwd=root))
    assert re.findall(r"Be \w+\.|Keep it pure|Not|Other", text) == ["Keep it pure"]  # nobody asked for other programs
    (root / "ctxasm.yaml").write_text("profile: repo\n")
    text = context(value := hook({**event, "session_id": "s2"}, "--for", "claude-code", cwd=root))
    assert re.findall(r"Be \w+\.|Keep it pure|Not|Other", text) == ["Be typed.", "Be nested.", "Keep it pure"]
    assert set(value) == {"hookSpecificOutput"}
    assert hook(event, "--for", "claude-code", cwd=root) == {}
    for given in ({"path": "src/b.py"}, {"notebook_path": "/etc/passwd"}, {"command": "ls"}, 7):
        value = hook({**event, "tool_input": given}, "--for", "claude-code", cwd=root / "src/..")
        assert ("Not src/b.py" in context(value)) == (given == {"path": "src/b.py"})


def test_subagent_gets_what_the_settings_say_for_its_type(tmp_path: Path) -> None:
    settings = "hook: {agents: {Explore: none, 'P*': {budget: 1, profile: mine.yaml}, '*': {budget: 40}}}\n"
    profile = "layers: [{id: x, heading: X, source: document, path: X.md, required: true}]\n"
    root = fill(tmp_path, {"agents/a/KNOWLEDGE.md": "So it is.\n\n" * 900, "mine.yaml": profile, "X.md": "Lean.\n"})
    event = {"hook_event_name": "SubagentStart", "agent_type": "Plan"}
    assert 3_000 < len(context(hook(event, cwd=root))) <= 4_000
    (root / "ctxasm.yaml").write_text(settings)
    assert context(hook(event, cwd=root)) == "## X\nLean.\n"
    assert hook({**event, "agent_type": "Explore"}, cwd=root) == {}
    assert 60 < len(context(hook({**event, "agent_type": "other"}, cwd=root))) <= 160
    (root / "ctxasm.yaml").write_text(settings.replace("mine.yaml", "../mine.yaml"))
    assert "is not a path inside the workspace" in hook(event, cwd=root)["systemMessage"]


def test_start_prefers_what_fits_the_branch_and_keeps_the_newest(tmp_path: Path) -> None:
    lamps = "".join(f"- [fact] Lamp {number} is lit {{created=2025-02-0{number}}}\n" for number in range(1, 7))
    old_log = {"agents/a/daily/2024-01-01.md": "- Hid\u200bden\n"}
    root = fill(tmp_path, {"agents/a/memories/m.md": FERRIES + lamps, **old_log})
    before = start(cwd=root)
    shell('git init -qb main . && git add . && git -c user.name=a -c user.email=a@b commit -qm "$1"', cwd=root)
    assert start(cwd=root) == before
    shell("git checkout -qb fix/ferry-times", cwd=root)
    assert re.findall("[Ff]erry|Lamp .", start(cwd=root)) == ["ferry", "Ferry", "Lamp 6", "Lamp 5", "Lamp 4"]
    shell("git checkout -qb zyzzyva", cwd=root)
    assert set(hook(START, cwd=root)) == {"hookSpecificOutput"}
    assert start(cwd=root) == before


def test_what_a_session_was_sent_is_recorded_and_judged(tmp_path: Path) -> None:
    root = fill(tmp_path, {"agents/a/memories/m.md": FERRIES})
    for event in (ASK, {**ASK, "session_id": "other"}):
        assert context(hook(event, "--for", "codex", "--record", cwd=root))
    (row,) = inside("records", "--session", "s", cwd=root).out.splitlines()[1:]
    assert len(inside("records", cwd=root).out.splitlines()) == 3
    assert "ferry leaves" in inside("replay", row.split()[0], cwd=root).out
    assert inside("feedback", row.split()[0], "--useful", "agents/a/memories/m.md:1", cwd=root).code == 0
    (root / ".ctxasm/records").rename(root / "away")
    (root / ".ctxasm/records").write_text("in the way")
    value = hook({**ASK, "session_id": "u"}, "--record", cwd=root)
    assert "ferry leaves" in context(value)
    assert "records" in value["systemMessage"]


def test_hook_that_is_switched_off_answers_nothing(tmp_path: Path) -> None:
    off = {"CTXASM_HOOK": "off"}
    assert ctxasm("hook", "--no-such", cwd=tmp_path, stdin="x" * 200_000, env=off) == (0, "{}\n", "")
    assert "SessionStart" in ctxasm("hook", "--print-config", "codex", env=off).out


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


LAMP, BRIEF = "I am a lamp.", "Be brief."
LOADED = [("codex", BRIEF, LAMP), ("claude-code", LAMP, BRIEF), ("gemini", "nothing", BRIEF)]


@pytest.mark.parametrize(("host", "lacks", "has"), LOADED)
def test_files_that_the_host_loads_by_itself_are_not_sent_again(
    host: str, lacks: str, has: str, tmp_path: Path
) -> None:
    root = fill(tmp_path, OPENCLAW, base={})
    text = start("--for", host, "-p", "openclaw", "-w", root, cwd=root)
    assert (lacks in text, has in text, "Ines." in text) == (False, True, True)
    (root / "SOUL.md").unlink()
    (root / "USER.md").unlink()
    assert (hook(START, "--for", host, "-p", "openclaw", "-w", root, cwd=root) == {}) == (host == "codex")


def test_lines_that_the_host_cuts_from_its_own_file_are_sent(tmp_path: Path) -> None:
    lines = [f"{number:03} {'x' * 105}" for number in range(1, 401)]
    root = fill(tmp_path, {".git/HEAD": "", "AGENTS.md": "\n".join(lines) + "\n"}, base={})
    sent = re.findall(r"^(\d\d\d) x", start("--for", "codex", "--part", "1/2", cwd=root), re.MULTILINE)
    sent += re.findall(r"^(\d\d\d) x", start("--for", "codex", "--part", "2/2", cwd=root), re.MULTILINE)
    assert sent == [f"{number:03}" for number in range(298, 401)]  # 110 bytes a line: the host cuts inside line 298
    assert hook(START, "--for", "claude-code", cwd=root) == {}


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


def test_a_start_tells_nothing_that_asks_nothing_of_the_person(tmp_path: Path) -> None:
    assert "systemMessage" not in hook(START, "--for", "codex", *LUNA)  # a layer that the limit leaves empty
    root = fill(tmp_path, {".git/HEAD": "", "CLAUDE.md": "@docs/gone.md\n", "AGENTS.md": "A\n"}, base={})
    assert hook(START, "--for", "codex", cwd=root) == {}
    assert "@docs/gone.md names no file" in hook(START, "--for", "codex", "-p", "repo", cwd=root)["systemMessage"]


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


NO_EVENTS = [b"", b"x", b"[]", b"{}", b"null", b"NaN", rb'"\ud800"', b'{"hook_event_name": 1}', b"{" * 5_000]
NO_EVENTS += [b"\xff\xfe\x00", b'{"hook_event_name": "SessionStart"' * 10, b'{"hook_event_name": "\xed\xa0\x80"}']
WRONG_NAMES = (b"Stop", b"S" * 5_000, rb"\ud800", rb"SessionStart\u0000")
NO_EVENTS += [b'{"hook_event_name": "%b"}' % name for name in WRONG_NAMES]


@pytest.mark.parametrize("event", NO_EVENTS, ids=lambda event: repr(event[:30]))
def test_what_is_no_event_is_told_on_both_channels_and_stops_nothing(event: bytes, tmp_path: Path) -> None:
    done = inside("hook", "--for", "codex", cwd=fill(tmp_path, {}), stdin=event)
    assert list(answer(done)) == ["systemMessage"]
    assert answer(done)["systemMessage"].startswith("ctxasm: error: ")
    assert (done.err[:15], done.err.count("\n")) == ("ctxasm: error: ", 1)


WRONG_LINES = ["--for nobody", "--for openclaw", "--part 3/2", "--part x", "--limit 10", "--limit many"]


@pytest.mark.parametrize("line", [*WRONG_LINES, "--no-such-option", "-a nobody", "-w /no/such/folder", "-p nothing"])
def test_command_line_that_is_wrong_is_told_and_stops_nothing(line: str, tmp_path: Path) -> None:
    event = {"hook_event_name": "UserPromptSubmit", "prompt": "hello there"}
    value = hook(event, *line.split(), cwd=fill(tmp_path, {}))
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


@pytest.mark.parametrize("event", [START, {"hook_event_name": "UserPromptSubmit", "prompt": "which ferry?"}], ids=len)
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
        assert "AGENTS.md: has changed since it was reviewed" in done.err


def test_broken_settings_are_told(tmp_path: Path) -> None:
    value = hook(START, cwd=fill(tmp_path, {"ctxasm.yaml": "profil: x\n"}))
    assert "ctxasm.yaml:1" in value["systemMessage"]


def test_event_folder_that_is_gone_is_the_current_one(tmp_path: Path) -> None:
    root = fill(tmp_path, {})
    for folder in ("/no/such/folder", 7, "\0", str(root / "agents/a/IDENTITY.md")):
        value = hook({"hook_event_name": "SessionStart", "cwd": folder}, cwd=root)
        assert context(value) == SMALL_TEXT


@pytest.mark.parametrize("host", STANDARD)
def test_printed_settings_call_the_hook(host: str) -> None:
    done = inside("hook", "--print-config", host, "-a", "luna", "-t", "q1", "--part", "1/2")
    settings = json.loads(done.out)
    validate(settings, SCHEMAS[host])
    assert RULES[host].settings in done.err
    assert list(settings["hooks"]) == EVENTS[host]
    for event, groups in settings["hooks"].items():
        commands = [entry["command"] for group in groups for entry in group["hooks"]]
        assert len(commands) == (2 if event == "SessionStart" else 1)
        for command in commands:
            name, *words = command.split()
            assert name == "ctxasm"
            about = {"prompt": "the date of the demo", "tool_input": {"file_path": "none.py"}}
            stdin = json.dumps({"hook_event_name": event, "cwd": str(SAMPLE), **about})
            assert bool(context(answer(inside(*words, stdin=stdin)))) == (event in {*STARTS, RULES[host].prompt})


def test_printed_settings_keep_every_option() -> None:
    names = set(re.findall(r"^ .*?(--[\w-]+)", inside("hook", "--help").out, re.MULTILINE))
    own = ["--for", "--limit", "--part", "--print-config", "--install", "--uninstall", "--yes"]
    typed = {name: name.strip("-") for name in names.difference(own, ["--help", "--offline", "--record"])}
    typed |= {"--team": "", "--limit": "5000", "--part": "1/2"}
    done = inside(
        "hook", "--offline", "--record", "--print-config", "codex", *(word for pair in typed.items() for word in pair)
    )
    hooks = json.loads(done.out)["hooks"]
    commands = [shlex.split(entry["command"]) for group in hooks["SessionStart"] for entry in group["hooks"]]
    assert len(typed) == 8
    for part, words in zip(("1/2", "2/2"), commands, strict=True):
        values = [word for word in words[2:] if word not in {"--offline", "--record"}]
        assert len(values) == len(words[2:]) - 2
        pairs = dict(zip(values[::2], values[1::2], strict=True))
        assert pairs == {**typed, "--for": "codex", "--part": part}
    (prompt,) = (shlex.split(entry["command"]) for group in hooks["UserPromptSubmit"] for entry in group["hooks"])
    assert prompt == commands[0][:-2]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("emacs", f"unknown host `emacs`: choose one of: {', '.join(HOOKED)}\n"),
        ("hermes", f"hermes has no hook that takes a context: choose one of: {', '.join(HOOKED)}\n"),
        ("openclaw", "no hook that takes a context: it reads its own files"),
        ("openclaw", "ctxasm check --host openclaw"),
        ("openclaw", "openclaw mcp set ctxasm"),
        ("claude", "unknown host `claude`: did you mean claude-code?"),
    ],
)
def test_settings_of_no_host_are_refused_with_what_to_do_instead(name: str, words: str) -> None:
    for typed in (("--print-config", name), (f"--print-config={name}",)):
        done = inside("hook", *typed)
        assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
        assert done.err.startswith("ctxasm: error: --print-config: ")
        assert words in done.err


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


def test_help_lists_the_hosts_that_have_hooks() -> None:
    words = " ".join(inside("hook", "--help").out.split()).replace("- ", "-")
    assert f"{', '.join(HOOKED[:-1])} or {HOOKED[-1]} (default: claude-code, codex and gemini)." in words


def test_page_shows_lines_to_paste() -> None:
    page = (ROOT / "docs/how-to/hooks.md").read_text(encoding="utf-8")
    assert [name for name in HOOKED if f"--print-config {name} " not in page] == []
