"""`ctxasm hook`: answer an event of a host, such as Claude Code, with a context that fits the host's limit."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from contextasm.cli.command_line import Command
from contextasm.cli.output import read_stdin, write_stderr, write_stdout
from contextasm.config.hosts.loader import host_names
from contextasm.config.input.options import Flag, Options, ProcessEnvironment, Text
from contextasm.model import ContextasmError
from contextasm.workspace.reads import note_whole_output

if TYPE_CHECKING:
    from contextasm.integrations.hook import HookCall

_NAMES = host_names(with_hook=True)
_HOSTS = " or ".join(", ".join(_NAMES).rsplit(", ", 1))
_ALIKE = " and ".join(", ".join(host_names(standard=True)).rsplit(", ", 1))


def hook(
    options: Options,
    *,
    host: Annotated[Text, Flag(f"{_HOSTS} (default: {_ALIKE}).", "HOST", "--for", completed=_NAMES)] = None,
    limit: Annotated[int | None, Flag("Write at most N characters or bytes, as the host counts.", "N")] = None,
    part: Annotated[Text, Flag("Write part K of a context that is split over N hooks.", "K/N")] = None,
    record: Annotated[bool, Flag("Write a record of the answer, in .ctxasm/records/.")] = False,
    print_config: Annotated[Text, Flag("Print the settings for this host.", "HOST", completed=_NAMES)] = None,
    install: Annotated[
        Text, Flag("Add the settings to this host's file in the project.", "HOST", completed=_NAMES)
    ] = None,
    uninstall: Annotated[Text, Flag("Remove the settings from this host's file.", "HOST", completed=_NAMES)] = None,
    yes: Annotated[bool, Flag("Write the file without asking.")] = False,
) -> int:
    """Read an event of a host as JSON from standard input, and answer with one JSON object.

    At the start of a session, the answer holds the context. At a prompt, it holds the memories that match the prompt.
    Files that the host loads by itself are left out. Errors are reported in the answer, and the exit code is 0, so a
    hook never stops a session.
    """
    from contextasm.integrations.hook import answer_event, hook_call

    named = {"--print-config": print_config, "--install": install, "--uninstall": uninstall, "--for": host}
    given = [flag for flag, value in named.items() if value is not None] or ["--for"]
    if len(given) > 1:
        raise ContextasmError(given[1], f"can't be used with {given[0]}", "leave one of them out")
    call = hook_call(named[given[0]], options, limit, part, given[0])._replace(record=record)
    if print_config is not None:
        return _print_settings(call)
    if given[0] != "--for":
        return _change_settings(call, removes=install is None, yes=yes)
    if sys.stdin and sys.stdin.isatty():
        hint = 'pipe one in, such as echo \'{"hook_event_name": "SessionStart"}\' | ctxasm hook'
        raise ContextasmError("hook", "standard input is a terminal, not an event of a host", hint)
    event = read_stdin("hook", "event")
    answer_event(event, call, _process(), write_stdout)
    if not record:
        note_whole_output(event)
    return 0


def _print_settings(call: HookCall) -> int:
    from contextasm.integrations.hook import config_text

    write_stdout(config_text(call))
    rule = call.rules[0]
    write_stderr(f"paste this into {rule.settings}, next to its other content")
    if not rule.limit_known:
        write_stderr(f"its hook limit is not documented; ctxasm sends at most {rule.limit:,} characters")
    return 0


def _change_settings(call: HookCall, *, removes: bool, yes: bool) -> int:
    """Show the change of the settings of a project, and make it after a yes; returns the exit code."""
    from contextasm.cli.build_files import confirm_change
    from contextasm.config.resolve import prepare_build, process_environment
    from contextasm.config.workspace_folder import nearest_workspace, open_workspace
    from contextasm.integrations.hook_settings import SettingsFile
    from contextasm.workspace.editing.files import locked

    process = process_environment()
    workspace = open_workspace(call.options, process)
    if not removes:
        prepare_build(call.options, process)  # A hook that can only fail is not set up.
    file = SettingsFile(nearest_workspace(call.options, process) or process.folder, call)
    shown, new = Path(os.path.relpath(file.path, process.folder)), file.changed(removes=removes)
    if new == file.data:
        write_stderr(f"{shown}: unchanged")
        return 0
    if not confirm_change(shown, file.data or b"", new or b"", yes=yes):
        return 1
    with locked(workspace, edits=False):
        file.write(new)
    write_stderr(f"{shown}: {'removed' if new is None else 'written'}")
    if not removes:
        _show_next_steps(call, process)
    return 0


def _show_next_steps(call: HookCall, process: ProcessEnvironment) -> None:
    """Say what a person has to do before the hooks that were set up are of use."""
    from contextasm.integrations.hook import answer_event

    rule = call.rules[0]
    if rule.trust:
        write_stderr(f"now {rule.trust}")
    found = shutil.which("ctxasm")
    if found is None:
        write_stderr("ctxasm: warning: ctxasm is not in PATH: add its folder to the PATH of the host")
    elif {"cache", ".cache"}.intersection(found.split(os.sep)):
        write_stderr(
            f"ctxasm: warning: {found} is in a cache, such as that of uvx: install ctxasm, so that hosts find it"
        )
    answers: list[str] = []
    answer_event(json.dumps({"hook_event_name": rule.start}), call, process, answers.append)
    if answers == ["{}\n"]:
        write_stderr("nothing to send yet, because the host loads all files here: add memories with `ctxasm remember`")


def _process() -> ProcessEnvironment:
    """The environment of this process; its folder is the empty path if it is gone."""
    from contextasm.config.resolve import process_environment

    try:
        return process_environment()
    except ContextasmError:
        return ProcessEnvironment(os.environ, "", time.time)


run = Command(hook, ("agent", "team", "profile", "date", "audience", "offline", "workspace"))
