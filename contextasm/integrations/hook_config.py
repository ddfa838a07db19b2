"""The lines that set a host up to call `ctxasm hook`, for a person to paste; no file is changed."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence

from contextasm.config.host_loader import HookRule, Host
from contextasm.integrations.hook import HookCall


def config_text(host: Host, call: HookCall) -> str:
    """The settings of a host with hooks, as JSON: as many as `call` has parts at a session's start, one at each prompt.

    The commands have the options of the call, also those that are typed as empty.
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
