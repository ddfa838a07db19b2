"""`ctxasm hook`: answer an event of Claude Code, Codex or Gemini CLI with a context that fits the host's limit."""

from __future__ import annotations

import os
import sys
import time
from typing import Annotated

from contextasm.cli.command_line import Command
from contextasm.cli.output import read_stdin, write_stderr, write_stdout
from contextasm.config.hosts.loader import host_names
from contextasm.config.input.options import Flag, Options, ProcessEnvironment
from contextasm.model import ContextasmError
from contextasm.workspace.reads import note_whole_output

_HOSTS = " or ".join(", ".join(host_names(with_hook=True)).rsplit(", ", 1))


def hook(
    options: Options,
    *,
    host: Annotated[str | None, Flag("--for", "HOST", f"{_HOSTS} (default: suit all of them).")] = None,
    limit: Annotated[int | None, Flag("", "N", "Write at most N of the host's units.")] = None,
    part: Annotated[str | None, Flag("", "K/N", "Write part K of a context that takes N hooks.")] = None,
    print_config: Annotated[
        str | None, Flag("", "HOST", "Print the settings to paste into this host; change nothing.")
    ] = None,
) -> int:
    """Answer an event of a host, JSON on standard input, with one JSON object on standard output.

    The start of a session gets the context, a prompt the memories that match it. Files that the host loads by itself
    are left out. Errors go into the answer, too, and the exit code is 0: a hook stops no session.
    """
    from contextasm.integrations.hook import answer_text, config_text, hook_call

    if print_config is not None:
        call = hook_call(print_config, options, limit, part, "--print-config")
        write_stdout(config_text(call.hosts[0], call))
        write_stderr(f"paste this into {call.rules[0].settings}, next to what it holds")
        return 0
    call = hook_call(host or None, options, limit, part)
    if sys.stdin and sys.stdin.isatty():
        hint = 'echo \'{"hook_event_name": "SessionStart"}\' | ctxasm hook'
        raise ContextasmError("hook", "standard input is a terminal, not an event of a host", hint)
    event = read_stdin("hook", "event")
    write_stdout(answer_text(event, call, _process()))
    note_whole_output(event)
    return 0


def _process() -> ProcessEnvironment:
    """The environment of this process; its folder is the empty path if it is gone."""
    from contextasm.config.resolve import process_environment

    try:
        return process_environment()
    except ContextasmError:
        return ProcessEnvironment(os.environ, "", time.time)


run = Command(hook, ("agent", "team", "profile", "date", "audience", "offline", "workspace"))
