"""Answers to the hooks of hosts: the event is JSON, the answer is one JSON object, and its text fits the host's limit.

The form of the answer is data of the host. What a host loads by itself is not sent to it again.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from functools import partial
from glob import escape
from typing import Any

from contextasm.config.build import PreparedBuild
from contextasm.config.hosts.loader import STANDARD_ANSWER, HookRule, Host, host_names, load_host
from contextasm.config.input.options import Options, ProcessEnvironment
from contextasm.config.input.settings import load_settings_file
from contextasm.config.input.values import require_known
from contextasm.config.keys.hook import agent_settings
from contextasm.config.resolve import prepare_build
from contextasm.config.workspace_folder import named_workspace, nearest_workspace, open_workspace
from contextasm.integrations.hook_parts import cut_text, excluding, load_host_texts, split_text, without_host_texts
from contextasm.integrations.hook_session import SentLines, file_lines, save_sent, shown_lines, with_git_topic
from contextasm.model import SOURCE_TRAITS, Build, Context, ContextasmError, Layer, NamedTuple, Problem, Profile
from contextasm.retrieval.search.inverted_index import STOP, analyze, term
from contextasm.selection.tokens import BYTES_ESTIMATE, CHARS_ESTIMATE, LENGTHS
from contextasm.text.cleaning.clean import HIDDEN_TEXT, message_line
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

_ABLE = ("included", "shortened", "truncated", "dropped")
"""Outcomes of what is shown, or would be if there were room."""

_FILE_KEYS = ("file_path", "notebook_path", "path")
"""Keys of a tool's input that name its file."""


class HookCall(NamedTuple):
    """The request of a hook, as its command line has it."""

    hosts: tuple[Host, ...]
    """The host, or all that take the standard answer if none is named: it then suits each of them."""
    options: Options
    limit: int | None = None
    """Units that the person allows; None for the host's limit."""
    part: int = 1
    """Counted from 1."""
    parts: int = 1
    record: bool = False
    """Whether a record of what is sent is written."""

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
    chosen = host_names(standard=True) if host is None else [require_known(host, names, where, "host")]
    hosts = tuple(load_host(name, where) for name in chosen)
    if limit is not None and limit < LEAST_LIMIT:
        raise ContextasmError("--limit", f"{limit} is too small", f"give {LEAST_LIMIT} units or more")
    return HookCall(hosts, options, limit, *parse_part(part))


def parse_part(typed: str | None) -> tuple[int, int]:
    """Number and count of parts in `K/N`; 1 of 1 for None. Raises `ContextasmError`."""
    number, slash, count = (typed if typed is not None else "1/1").partition("/")
    if not (slash and all(part.isascii() and part.isdigit() and len(part) < 3 for part in (number, count))):
        raise ContextasmError("--part", f"`{typed}` is not a part", "write K/N, such as 2/3")
    if not 1 <= int(number) <= int(count):
        raise ContextasmError("--part", f"part {typed} does not exist", "write K/N with K from 1 to N, such as 2/3")
    return int(number), int(count)


def answer_event(event_text: str, call: HookCall, process: ProcessEnvironment, write: Callable[[str], object]) -> None:
    """Write the answer to an event, JSON in one line; an empty object if no workspace is named and none is near.

    Only what `write` has written counts as sent. The folder of `process` may be the empty path, for one that is gone.
    Raises `ContextasmError` for no event, and as a build does.
    """
    event = load_json(event_text, "hook event", takes_halves=True)
    form = call.rules[0]  # Hosts that are called together have one form of events and answers.
    if isinstance(event, dict) and form.unnamed:
        event |= {"hook_event_name": form.start}
    if not isinstance(event, dict) or not isinstance(event.get("hook_event_name"), str):
        hint = 'send an object such as {"hook_event_name": "SessionStart"}'
        raise ContextasmError("hook event", "has no hook_event_name", hint)
    name = _event_text(event, "hook_event_name")
    kinds = {getattr(rule, kind): kind for rule in call.rules for kind in _ANSWERS if getattr(rule, kind)}
    if name not in kinds:
        what = f"the hook does not answer {one_line(name)[:80]}"
        raise ContextasmError("hook event", what, f"set up the hook for {' or '.join(sorted(kinds))}")
    folders = event.get(form.folder)
    process = _in_session_folder(folders[0] if folders and isinstance(folders, list) else folders, call, process)
    root = named_workspace(call.options, process) or nearest_workspace(call.options, process)
    if not root:
        write(_json_text(name, "", "", form))  # The hooks of a person run in all projects.
        return
    session = _event_text(event, "session_id")
    key = (session, _event_text(event, "agent_id"), os.path.join(process.folder, root), call.options)
    with closing(SentLines(key if session else (), call.part, process.environment)) as sent:
        # A session that goes on has what it was sent at prompts, and asks for the text of its start again.
        is_anew = kinds[name] in {"start", "compact"} or (kinds[name] == "agent" and event.get("agent_id"))
        if is_anew and _event_text(event, "source") not in {"resume", "fork"}:
            sent.forget(all_parts=kinds[name] == "compact")
        write(_json_text(name, *_ANSWERS[kinds[name]](Moment(event, call, process, sent)), form))
        sent.save()


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
    hint = "change to a folder that exists, or name the full path of a workspace with -w DIR"
    raise ContextasmError("current folder", "is gone", hint)


def _event_text(event: Mapping[str, object], key: str) -> str:
    """The text of a key, with a sign in place of each half of a character; empty for what is not text."""
    value = event.get(key)
    return re.sub("[\ud800-\udfff]", "\N{REPLACEMENT CHARACTER}", value) if isinstance(value, str) else ""


def failure_text(what: str, words: Sequence[str]) -> str:
    """The answer that shows an error to the person and lets the session go on, in the form of the host of a command."""
    flags = [part for word in words for part in word.split("=", 1)]
    name = flags[flags.index("--for") + 1] if "--for" in flags[:-1] else ""
    form = load_host(name, "--for").hook if name in host_names(with_hook=True) else None
    return _json_text("", "", f"error: {what}", form)


def _json_text(name: str, text: str, message: str, form: HookRule | None) -> str:
    """An answer in the form of a host; None for the standard one."""
    template = form.answer if form else STANDARD_ANSWER
    answer = _filled(template, EVENT=name, TEXT=text) if text else {}
    if message and (key := form.message if form else "systemMessage"):
        answer[key] = clipped(f"ctxasm: {one_line(message_line(message))}", _MAX_MESSAGE)
    return json.dumps(answer, ensure_ascii=False) + "\n"


def _filled(template: str, **values: object) -> Any:
    """The value of a template of JSON, with values in place of their names."""
    return load_json(re.sub('"([A-Z]+)"', lambda match: json.dumps(values[match[1]]), template), "template")


class Moment(NamedTuple):
    """An event of a host, and all that its answer is made with."""

    event: Mapping[str, object]
    call: HookCall
    process: ProcessEnvironment
    sent: SentLines
    """What the session was sent before."""


Answer = tuple[str, str]
"""The text for the model, and the message for the person; empty for none."""


def _agent_answer(moment: Moment) -> Answer:
    """Text at the start of a subagent, by its type; no message: the session's own start had it."""
    call, process = moment.call._replace(part=1, parts=1), moment.process
    settings_file = load_settings_file(open_workspace(call.options, process))
    settings = agent_settings(settings_file, _event_text(moment.event, "agent_type"))
    if settings is None or moment.call.part > 1:
        return "", ""
    return _context_answer(moment._replace(call=call), prepare_build(call.options, process, overrides=settings))[0], ""


def _context_answer(moment: Moment, prepared: PreparedBuild) -> Answer:
    """The text of a build without what the hosts load by themselves, and, for the first part, its first problem."""
    call, process = moment.call, moment.process
    prepared = prepared.with_lock(process.environment, locked=False)
    lead = f"Part {call.part} of {call.parts} of the context of this workspace:\n\n" if call.parts > 1 else ""
    room = call.max_units - LENGTHS[call.unit].units(lead)
    texts = load_host_texts(call.hosts, process.folder)
    whole = build = with_git_topic(prepared, process)
    is_detected = bool(prepared.taken)  # Then nobody has asked for what other programs read.
    if is_detected or any(texts):
        context = _run(prepared, build, call, build.request.budget)
        build = without_host_texts(build, texts, context, prepared.workspace.root, only_named=is_detected)
    pieces, context, problems = _pieces(prepared, build, call, room)
    piece = pieces[call.part - 1] if call.part <= len(pieces) else ""
    # To have nothing else to send is not a fault, nor is a person's own file, which each host imports from the home.
    # The limit is the host's, so layers without room ask nothing of the person, nor does an import of a file, or a
    # hidden character in one, that is not sent: a topic of git has all logs read.
    silent = {"home-import", "starved", "no-room", "cut", *(["no-effect"] if build is not whole else ())}
    left_out = {("import", path) for path in build.request.filters.exclude}
    shown = {decision.path for decision in context.decisions if decision.kept}
    problems = [
        each
        for each in problems
        if each.code not in silent
        and (each.code, escape(each.path)) not in left_out
        and (each.code != HIDDEN_TEXT or each.path in shown)
    ]
    fault = _note_sent(moment, prepared, build, context, piece)
    message = (_problem_words(problems) or fault) if call.part == 1 else ""
    return (lead + piece if piece.strip() else ""), message


def _note_sent(moment: Moment, prepared: PreparedBuild, build: Build, context: Context, text: str) -> str:
    """Note that the session is sent this text of a context, and record that; the fault of a record, empty for none."""
    call = moment.call
    moment.sent.add(shown_lines(context, prepared.build.workspace, text))
    if not call.record or call.part > 1 or not context.text.strip():
        return ""
    names = (_event_text(moment.event, key) for key in ("session_id", "hook_event_name"))
    return save_sent(prepared, build, context, *names)


def _pieces(
    prepared: PreparedBuild, build: Build, call: HookCall, room: int
) -> tuple[Sequence[str], Context, Sequence[Problem]]:
    """The parts of the largest context that `call.parts` parts of `room` units hold, the context, and its problems.

    If the required layers are larger, the last part ends with a marker.
    """
    measure = LENGTHS[call.unit].units
    budget = _own_budget(prepared, room * call.parts)
    for _ in range(_MAX_BUILDS):
        context = _run(prepared, build, call, budget)
        pieces = split_text(context.text, room, measure)
        if len(pieces) <= call.parts:
            return pieces, context, context.problems
        if any(problem.code == "over-budget" for problem in context.problems):
            break
        budget = budget * 97 // 100
    shown = [*pieces[: call.parts - 1], cut_text("".join(pieces[call.parts - 1 :]), room, measure)]
    others = [problem for problem in context.problems if problem.code != "over-budget"]
    return shown, context, [_cut_problem(measure(context.text), call, len(pieces)), *others]


def _cut_problem(units: int, call: HookCall, needed: int) -> Problem:
    """The problem of a context that is larger than the parts; `needed` parts would hold it."""
    unit = "characters" if call.unit == "chars" else "bytes"
    most = f"{call.max_units:,}"
    hold = f"one hook holds {most}" if call.parts == 1 else f"{call.parts} hooks hold {most} each"
    message = f"required layers take {units:,} {unit}, but {hold}, so the rest is cut"
    hint = "shorten the files of these layers"
    if needed <= MAX_PARTS:
        hint += f", or set up {needed} hooks (--print-config HOST --part 1/{needed})"
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


def _prompt_answer(moment: Moment) -> Answer:
    """The entries that match a prompt, and no message; an empty text if none does."""
    call, process = moment.call, moment.process
    topic = _without_answers(_event_text(moment.event, "prompt"), call).strip()[:MAX_TOPIC]
    is_chatter = all(word in STOP or term(word) in _CHATTER.split() for word in analyze(topic))
    if not topic or call.part > 1:
        return "", ""
    prepared = prepare_build(call.options._replace(topic=topic), process, restrict_profile=_with_entries_only)
    prepared = prepared.with_lock(process.environment, locked=False)
    if is_chatter or not prepared.build.profile.layers:
        return "", ""
    build = prepared.build
    if rules := build.rules:  # The start had what they include, for every prompt.
        effects = tuple(effect for effect in rules.effects if effect.action != "always_include")
        build = build._replace(rules=rules._replace(effects=effects))
    return _unsent_answer(moment, prepared, build, min(MAX_PROMPT_UNITS, call.max_units))


def _unsent_answer(moment: Moment, prepared: PreparedBuild, build: Build, units: int) -> Answer:
    """The text of a build without what the session has: memories that pin themselves, and what it was sent."""
    budget, workspace, sent = _own_budget(prepared, units), prepared.build.workspace, moment.sent
    for _ in range(_MAX_BUILDS):
        context = _run(prepared, build, moment.call, budget)
        able = [each for each in context.decisions if each.outcome in _ABLE or each.reason.code == "not-in-top"]
        again = {each.fragment for each in able if each.reason.code in _PINNED}
        again |= {each.fragment for each in able if sent.has(file_lines(each, (each.lines,), workspace))}
        again -= {*build.request.filters.exclude}
        if not again:
            break
        build = excluding(build, sorted(again))
    if again or not context.text.strip():
        return "", ""
    fault = _note_sent(moment, prepared, build, context, context.text)
    return cut_text(context.text, units, LENGTHS[moment.call.unit].units), fault


def _file_answer(moment: Moment) -> Answer:
    """The rules and memories for a file that a tool is about to open, once a session; no message."""
    call, process, given = moment.call, moment.process, moment.event.get("tool_input")
    names = [_event_text(given, key) for key in _FILE_KEYS] if isinstance(given, dict) else []
    path = os.path.join(process.folder, next(filter(None, names), ""))
    if not any(names) or "\0" in path or call.part > 1 or moment.sent.has([f"file {path}"]):
        return "", ""
    restrict = partial(_with_entries_only, is_for_file=True)
    prepared = prepare_build(call.options._replace(open=(path,)), process, restrict_profile=restrict)
    prepared, build = prepared.with_lock(process.environment, locked=False), prepared.build
    if build.request.open[0].startswith(("/", "../")) or not build.profile.layers:
        return "", ""
    usual = _run(prepared, build._replace(request=build.request._replace(open=())), call, build.request.budget)
    paths = {decision.path for decision in usual.decisions if decision.outcome in _ABLE}
    texts, context = load_host_texts(call.hosts, process.folder, (path,)), _run(prepared, build, call, call.max_units)
    build = without_host_texts(build, texts, context, prepared.workspace.root, only_named=bool(prepared.taken))
    answer = _unsent_answer(moment, prepared, excluding(build, sorted(map(escape, paths))), call.max_units)
    moment.sent.add([f"file {path}"])
    return answer


def _without_answers(prompt: str, call: HookCall) -> str:
    """The prompt without the answers at the start of the session that a host puts before it."""
    for tag in {re.escape(rule.tag) for rule in call.rules if rule.tag}:
        prompt = re.sub(rf"\A(?:\s*<{tag}>.*?</{tag}>)+", "", prompt, flags=re.DOTALL)
    return prompt


def _with_entries_only(profile: Profile, *, is_for_file: bool = False) -> Profile:
    """The profile with the layers that a topic chooses from, and with nothing in them but what matches it well.

    For an open file, with instructions, and with the memories that name it.
    """
    layers = (_entries_of(layer, profile, is_for_file=is_for_file) for layer in profile.layers)
    return profile._replace(layers=tuple(filter(None, layers)))


def _entries_of(layer: Layer, profile: Profile, *, is_for_file: bool) -> Layer | None:
    """The layer with such entries only; also of one that shows the file whole that the profile keeps memories in."""
    traits = [(name, SOURCE_TRAITS[name]) for name in layer.query.sources]
    sources = tuple(name for name, each in traits if each.answers_topic and not is_for_file)
    if is_for_file:
        sources = tuple(name for name, each in traits if each.uses_open or each.holds_memories)
    limits = layer.limits._replace(required=False, within="", reserve=0, reserve_share=None, reserve_against=())
    if not sources and profile.remember in layer.query.paths:
        # The start may have had no room for a line of it. It takes room before the notes of days do.
        sources, limits = ("recent" if is_for_file else "search",), limits._replace(priority=1, share=50)
        ranking, overflow = layer.ranking._replace(order="best", top=10), layer.overflow._replace(steps=("drop",))
        display = layer.display._replace(item_template="- {text}")
        layer = layer._replace(ranking=ranking, display=display, overflow=overflow)
    is_log = any(each.is_log for _, each in traits)  # whose lines would be those of this file again
    paths = tuple(path for path in layer.query.paths if not (is_log and path == profile.remember))
    query = layer.query._replace(sources=sources, paths=paths, min_cover=_MIN_COVER, open_only=is_for_file)
    return layer._replace(query=query, limits=limits) if sources else None


_ANSWERS: Mapping[str, Callable[[Moment], Answer]] = {
    "start": lambda moment: _context_answer(moment, prepare_build(moment.call.options, moment.process)),
    "prompt": _prompt_answer,
    "agent": _agent_answer,
    "file": _file_answer,
    "compact": lambda _moment: ("", ""),
}
"""The answer to each kind of event, by the field of `HookRule` that has its name."""


def config_text(call: HookCall) -> str:
    """The settings of a host with hooks, as JSON: as many as `call` has parts at a session's start, one at each prompt.

    The host is the first of the call. The commands have the options of the call, also the ones that are typed as empty.
    """
    rule = call.rules[0]
    words = ["ctxasm", "hook", "--for", call.hosts[0].name, *_option_words(call)]
    numbers = range(1, call.parts + 1)
    starts = [[*words, "--part", f"{number}/{call.parts}"] for number in numbers] if call.parts > 1 else [words]
    hooks = {rule.start: _entries(rule, starts, rule.matcher)}
    others = ((rule.prompt, ""), (rule.agent, ""), (rule.file, rule.file_matcher), (rule.compact, ""))
    hooks |= {name: _entries(rule, [words], matcher) for name, matcher in others if name}
    return json.dumps(_filled(rule.layout, EVENTS=hooks), indent=2) + "\n"


def _entries(rule: HookRule, commands: Sequence[Sequence[str]], matcher: str) -> list[object]:
    """The hooks of an event, in a group with a matcher if the host has groups."""
    hooks = [_filled(rule.hook, COMMAND=shlex.join(words)) for words in commands]
    group = {"matcher": matcher, "hooks": hooks} if matcher else {"hooks": hooks}
    return [group] if rule.grouped else hooks


def _option_words(call: HookCall) -> list[str]:
    typed = {**call.options._asdict(), "limit": call.limit, "record": call.record}
    flags = {f"--{name}": value for name, value in typed.items() if value not in (None, (), False)}
    return [word for flag, value in flags.items() for word in ([flag] if value is True else [flag, str(value)])]
