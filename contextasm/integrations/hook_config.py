"""The lines that set a host up to call `ctxasm hook`, for a person to paste; no file is changed."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence

from contextasm.config.host_loader import HookRule, Host
from contextasm.config.options import Options


def config_text(host: Host, options: Options, parts: int) -> str:
    """The settings of a host with hooks, as JSON: `parts` hooks at the start of a session, and one at each prompt.

    The commands have the options that are typed.
    """
    rule = host.hook
    assert rule
    words = ["ctxasm", "hook", "--for", host.name, *_option_words(options)]
    starts = [[*words, "--part", f"{number}/{parts}"] for number in range(1, parts + 1)] if parts > 1 else [words]
    hooks = {rule.start: [_group(rule, starts, rule.matcher)], rule.prompt: [_group(rule, [words], "")]}
    return json.dumps({"hooks": hooks}, indent=2) + "\n"


def _group(rule: HookRule, commands: Sequence[Sequence[str]], matcher: str) -> dict[str, object]:
    hooks = [{"type": "command", "command": shlex.join(words), "timeout": rule.timeout} for words in commands]
    return {"matcher": matcher, "hooks": hooks} if matcher else {"hooks": hooks}


def _option_words(options: Options) -> list[str]:
    typed = {f"--{field}": value for field, value in options._asdict().items() if value}
    return [word for flag, value in typed.items() for word in ([flag] if value is True else [flag, str(value)])]
