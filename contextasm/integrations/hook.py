"""Answers to the hooks of hosts: the event is JSON, the answer is one JSON object, and its text fits the host's limit.

Claude Code, Codex and Gemini CLI take the same answer. What a host loads by itself is not sent to it again.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Mapping, Sequence

from contextasm.config.build import PreparedBuild
from contextasm.config.hosts.loader import HookRule, Host, host_names, load_host
from contextasm.config.input.options import Options, ProcessEnvironment
from contextasm.config.input.values import require_known
from contextasm.config.resolve import prepare_build
from contextasm.config.workspace_folder import named_workspace, nearest_workspace
from contextasm.integrations.hook_parts import cut_text, excluding, load_host_texts, split_text, without_host_texts
from contextasm.model import SOURCE_TRAITS, Build, Context, ContextasmError, Layer, NamedTuple, Problem, Profile
from contextasm.retrieval.search.inverted_index import STOP, analyze, term
from contextasm.selection.tokens import BYTES_ESTIMATE, CHARS_ESTIMATE, LENGTHS
from contextasm.text.cleaning.clean import message_line
from contextasm.text.graphemes import clipped
from contextasm.text.json_reader import load_json
from contextasm.text.names.templates import one_line
from contextasm.workspace.reads import is_folder

MAX_PROMPT_UNITS = 2000
"""Most units of the answer to a prompt."""

MAX_PARTS = 99
"""Most hooks that may share a context; a number of two digits."""

LEAST_LIMIT = 200
"""Units below which no limit is taken."""

MAX_TOPIC = 4000
"""Characters of a prompt that are its topic; a pasted file is longer."""

_MAX_MESSAGE = 500
_MAX_BUILDS = 40

_MIN_COVER = 0.45
"""Share of a prompt's words, weighed by how rare they are, that the best match holds; below it nothing is sent."""

_CHATTER = (
    "agre continu cool do fine go good great help it keep lgtm look make next nice perfect proceed sens sound tri"
)
"""Stems of words of a prompt that is not about anything, unless it has others."""

_PINNED = ("pinned", "pin")


class HookCall(NamedTuple):
    """The request of a hook, as its command line has it."""

    hosts: tuple[Host, ...]
    """The host, or all with hooks if none is named: the answer then suits each of them."""
    options: Options
    limit: int | None = None
    """Units that the person allows; None for the host's limit."""
    part: int = 1
    """Counted from 1."""
    parts: int = 1

    @property
    def rules(self) -> Sequence[HookRule]:
        """The rules of the hosts."""
        return [host.hook for host in self.hosts if host.hook]

    @property
    def unit(self) -> str:
        """Name of the counter of units; bytes if hosts differ.

        A text never has more code units than bytes, so what fits a limit in bytes fits the same limit in either unit.
        One text is for all hosts then, and the least of their limits holds for it.
        """
        return "chars" if {rule.unit for rule in self.rules} == {"chars"} else "bytes"

    @property
    def max_units(self) -> int:
        """Most units of one answer."""
        limits = [rule.limit for rule in self.rules]
        return min([*limits, self.limit] if self.limit is not None else limits)


def hook_call(
    host: str | None, options: Options, limit: int | None, part: str | None, where: str = "--for"
) -> HookCall:
    """The call of typed options, of which `where` names the host.

    Raises `ContextasmError` for an unknown host, a bad limit or a bad part.
    """
    names = host_names(with_hook=True)
    if host in host_names() and host not in names:
        hint = load_host(host, where).instead or f"choose one of: {', '.join(names)}"
        raise ContextasmError(where, f"{host} has no hook that takes a context", hint)
    chosen = names if host is None else [require_known(host, names, where, "host")]
    hosts = tuple(load_host(name, where) for name in chosen)
    if limit is not None and limit < LEAST_LIMIT:
        raise ContextasmError("--limit", f"{limit} is too small", f"give {LEAST_LIMIT} units or more")
    return HookCall(hosts, options, limit, *parse_part(part))


def parse_part(typed: str | None) -> tuple[int, int]:
    """Number and count of parts in `K/N`; 1 of 1 for None. Raises `ContextasmError`."""
    number, slash, count = (typed if typed is not None else "1/1").partition("/")
    if not (slash and all(part.isascii() and part.isdigit() and len(part) < 3 for part in (number, count))):
        raise ContextasmError("--part", f"{typed} is not a part", "write K/N, such as 2/3")
    if not 1 <= int(number) <= int(count):
        raise ContextasmError("--part", f"part {typed} does not exist", "write K/N with K from 1 to N, such as 2/3")
    return int(number), int(count)


def answer_text(event_text: str, call: HookCall, process: ProcessEnvironment) -> str:
    """The answer to an event, as JSON in one line; an empty object if no workspace is named and none is near.

    The folder of `process` may be the empty path, for one that is gone. Raises `ContextasmError` for no event, and as a
    build does.
    """
    event = load_json(event_text, "hook event", takes_halves=True)
    if not isinstance(event, dict) or not isinstance(event.get("hook_event_name"), str):
        hint = 'send an object such as {"hook_event_name": "SessionStart"}'
        raise ContextasmError("hook event", "has no hook_event_name", hint)
    name = _event_text(event, "hook_event_name")
    starts = {rule.start for rule in call.rules}
    prompts = {rule.prompt for rule in call.rules}
    if name not in starts | prompts:
        what = f"{one_line(name)[:80]} is not answered"
        raise ContextasmError("hook event", what, f"set the hook up for {' or '.join(sorted(starts | prompts))}")
    process = _in_session_folder(event.get("cwd"), call, process)
    if not named_workspace(call.options, process) and not nearest_workspace(call.options, process):
        return _json_text(name, "", "")  # The hooks of a person run in all projects.
    if name in starts:
        return _json_text(name, *_start_answer(call, process))
    return _json_text(name, *_prompt_answer(_event_text(event, "prompt"), call, process))


def _in_session_folder(cwd: object, call: HookCall, process: ProcessEnvironment) -> ProcessEnvironment:
    """The process in the folder of an event, else in its own; at the top of the disk if that is gone.

    Raises `ContextasmError` if it is gone and no whole path of a workspace is named.
    """
    if isinstance(cwd, str) and "\0" not in cwd and is_folder(cwd):
        return process._replace(folder=cwd)
    if process.folder:
        return process
    if os.path.isabs(named_workspace(call.options, process)):
        return process._replace(folder="/")
    hint = "change to a folder that exists, or name the whole path of a workspace with -w DIR"
    raise ContextasmError("current folder", "is gone", hint)


def _event_text(event: Mapping[str, object], key: str) -> str:
    """The text of a key, with a sign in place of each half of a character; empty for what is not text."""
    value = event.get(key)
    return re.sub("[\ud800-\udfff]", "\N{REPLACEMENT CHARACTER}", value) if isinstance(value, str) else ""


def failure_text(what: str) -> str:
    """The answer that shows an error to the person and lets the session go on."""
    return _json_text("", "", f"error: {what}")


def _json_text(name: str, text: str, message: str) -> str:
    answer: dict[str, object] = {}
    if text:
        answer["hookSpecificOutput"] = {"hookEventName": name, "additionalContext": text}
    if message:
        answer["systemMessage"] = clipped(f"ctxasm: {one_line(message_line(message))}", _MAX_MESSAGE)
    return json.dumps(answer, ensure_ascii=False) + "\n"


def _start_answer(call: HookCall, process: ProcessEnvironment) -> tuple[str, str]:
    """Text and message at the start of a session; only the first part has a message."""
    prepared = prepare_build(call.options, process).with_lock(process.environment, locked=False)
    lead = f"Part {call.part} of {call.parts} of the context of this workspace:\n\n" if call.parts > 1 else ""
    room = call.max_units - LENGTHS[call.unit].units(lead)
    texts = load_host_texts(call.hosts, process.folder)
    build = prepared.build
    is_detected = bool(prepared.taken)  # Then nobody has asked for what other programs read.
    if is_detected or any(texts):
        context = _run(prepared, build, call, build.request.budget)
        build = without_host_texts(build, texts, context, prepared.workspace.root, only_named=is_detected)
    pieces, problems = _pieces(prepared, build, call, room)
    piece = pieces[call.part - 1] if call.part <= len(pieces) else ""
    # To have nothing else to send is not a fault, nor is a person's own file, which each host imports from the home.
    silent = {"home-import", *(["no-effect"] if build is not prepared.build else ())}
    problems = [problem for problem in problems if problem.code not in silent]
    message = _problem_words(problems) if call.part == 1 else ""
    return (lead + piece if piece.strip() else ""), message


def _pieces(
    prepared: PreparedBuild, build: Build, call: HookCall, room: int
) -> tuple[Sequence[str], Sequence[Problem]]:
    """The parts of the largest context that `call.parts` parts of `room` units hold, and the problems of its build.

    If the required layers are larger, the last part ends with a marker.
    """
    measure = LENGTHS[call.unit].units
    budget = _own_budget(prepared, room * call.parts)
    for _ in range(_MAX_BUILDS):
        context = _run(prepared, build, call, budget)
        pieces = split_text(context.text, room, measure)
        if len(pieces) <= call.parts:
            return pieces, context.problems
        if any(problem.code == "over-budget" for problem in context.problems):
            break
        budget = budget * 97 // 100
    shown = [*pieces[: call.parts - 1], cut_text("".join(pieces[call.parts - 1 :]), room, measure)]
    others = [problem for problem in context.problems if problem.code != "over-budget"]
    return shown, [_cut_problem(measure(context.text), call, len(pieces)), *others]


def _cut_problem(units: int, call: HookCall, needed: int) -> Problem:
    """The problem of a context that is larger than the parts; `needed` parts would hold it."""
    unit = "characters" if call.unit == "chars" else "bytes"
    most = f"{call.max_units:,}"
    hold = f"one hook holds {most}" if call.parts == 1 else f"{call.parts} hooks hold {most} each"
    message = f"required layers take {units:,} {unit}, and {hold}: the rest is cut"
    hint = "shorten the files of these layers"
    if needed <= MAX_PARTS:
        hint += f", or set {needed} hooks up (--print-config HOST --part 1/{needed})"
    return Problem("over-budget", "budget", 0, message, hint)


def _own_budget(prepared: PreparedBuild, units: int) -> int:
    """The budget in tokens of four units: the host's room, or the person's own budget if that is less."""
    request = prepared.build.request
    own = request.budget // CHARS_ESTIMATE.units_per_token if request.tokenizer in LENGTHS else request.budget
    return min(own, units // CHARS_ESTIMATE.units_per_token)


def _run(prepared: PreparedBuild, build: Build, call: HookCall, budget: int) -> Context:
    counter = CHARS_ESTIMATE if call.unit == "chars" else BYTES_ESTIMATE
    request = build.request._replace(budget=budget, tokenizer=counter.name, format="markdown")
    return prepared.run(build._replace(counter=counter, request=request))


def _problem_words(problems: Sequence[Problem]) -> str:
    """The first problem in words, with the number of others; empty for none."""
    if not problems:
        return ""
    first = problems[0]
    place = ":".join(filter(None, (first.path, str(first.line or ""))))
    more = f" (and {len(problems) - 1} more: `ctxasm explain` lists them)" if len(problems) > 1 else ""
    return f"{place}: {first.advice}{more}"


# --- Prompts ---------------------------------------------------------------------------------------------------------


def _prompt_answer(prompt: str, call: HookCall, process: ProcessEnvironment) -> tuple[str, str]:
    """The entries that match a prompt, and no message; an empty text if none does."""
    topic = _without_answers(prompt, call).strip()[:MAX_TOPIC]
    is_chatter = all(word in STOP or term(word) in _CHATTER.split() for word in analyze(topic))
    if not topic or call.part > 1:
        return "", ""
    prepared = prepare_build(call.options._replace(topic=topic), process, restrict_profile=_with_matches_only)
    prepared = prepared.with_lock(process.environment, locked=False)
    if is_chatter or not prepared.build.profile.layers:
        return "", ""
    units = min(MAX_PROMPT_UNITS, call.max_units)
    budget = _own_budget(prepared, units)
    context = _run(prepared, prepared.build, call, budget)
    if pins := [decision.fragment for decision in context.decisions if decision.reason.code in _PINNED]:
        # They were in the context at the start, for every prompt.
        context = _run(prepared, excluding(prepared.build, pins), call, budget)
    return cut_text(context.text, units, LENGTHS[call.unit].units) if context.text.strip() else "", ""


def _without_answers(prompt: str, call: HookCall) -> str:
    """The prompt without the answers at the start of the session that a host puts before it."""
    for tag in {re.escape(rule.tag) for rule in call.rules if rule.tag}:
        prompt = re.sub(rf"\A(?:\s*<{tag}>.*?</{tag}>)+", "", prompt, flags=re.DOTALL)
    return prompt


def _with_matches_only(profile: Profile) -> Profile:
    """The profile with the layers that a topic chooses from, and with nothing in them but what matches it well."""
    return profile._replace(layers=tuple(filter(None, (_matches_of(layer, profile) for layer in profile.layers))))


def _matches_of(layer: Layer, profile: Profile) -> Layer | None:
    """The layer with its matches only; also of one that shows the file whole that the profile keeps memories in."""
    sources = tuple(source for source in layer.query.sources if SOURCE_TRAITS[source].answers_topic)
    limits = layer.limits._replace(required=False, within="", reserve=0, reserve_against=())
    if not sources and profile.remember in layer.query.paths:
        # The start may have had no room for a line of it. It takes room before the notes of days do.
        sources, limits = ("search",), limits._replace(priority=1, share=50)
        ranking, overflow = layer.ranking._replace(order="best", top=10), layer.overflow._replace(steps=("drop",))
        display = layer.display._replace(item_template="- {text}")
        layer = layer._replace(ranking=ranking, display=display, overflow=overflow)
    query = layer.query._replace(sources=sources, min_cover=_MIN_COVER)
    return layer._replace(query=query, limits=limits) if sources else None


def config_text(host: Host, call: HookCall) -> str:
    """The settings of a host with hooks, as JSON: as many as `call` has parts at a session's start, one at each prompt.

    The commands have the options of the call, also the ones that are typed as empty.
    """
    rule = host.hook
    assert rule
    words = ["ctxasm", "hook", "--for", host.name, *_option_words(call)]
    numbers = range(1, call.parts + 1)
    starts = [[*words, "--part", f"{number}/{call.parts}"] for number in numbers] if call.parts > 1 else [words]
    hooks = {rule.start: [_group(rule, starts, rule.matcher)], rule.prompt: [_group(rule, [words], "")]}
    return json.dumps({"hooks": hooks}, indent=2) + "\n"


def _group(rule: HookRule, commands: Sequence[Sequence[str]], matcher: str) -> dict[str, object]:
    hooks = [{"type": "command", "command": shlex.join(words), "timeout": rule.timeout} for words in commands]
    return {"matcher": matcher, "hooks": hooks} if matcher else {"hooks": hooks}


def _option_words(call: HookCall) -> list[str]:
    typed = {**call.options._asdict(), "limit": call.limit}
    flags = {f"--{name}": value for name, value in typed.items() if value not in (None, (), False)}
    return [word for flag, value in flags.items() for word in ([flag] if value is True else [flag, str(value)])]
