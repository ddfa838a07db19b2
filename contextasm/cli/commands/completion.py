"""`ctxasm completion`: typer's completion script for a shell, its place in the files of a person, and its answers.

The script calls `ctxasm` at each TAB with the variable `_CTXASM_COMPLETE`, which typer derives from the program's name.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

from contextasm.cli.command_line import Argument, Command
from contextasm.cli.output import write_stderr, write_stdout
from contextasm.config.input.options import Flag
from contextasm.model import ContextasmError, Document

if TYPE_CHECKING:
    from contextasm.config.input.options import Options, ProcessEnvironment
    from contextasm.memories.owner import Owner
    from contextasm.text.names.places import OwnerKind

Shell = Literal["bash", "zsh", "fish"]

_FILES: Mapping[Shell, tuple[str, str, str]] = {
    "bash": ("HOME", "", ".bashrc"),
    "zsh": ("ZDOTDIR", "", ".zshrc"),
    "fish": ("XDG_CONFIG_HOME", ".config", "fish/completions/ctxasm.fish"),
}
"""The file that each shell reads: a variable with its folder, that folder below the home folder, and the rest."""

_COMPINIT = "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }\n"
"""Line that zsh needs before the script, unless completion is on already."""

_BEGIN, _END = b"# completion of ctxasm: begin\n", b"# completion of ctxasm: end\n"

_BLOCK = re.compile(rb"\n?^%b(?:(?!%b).*\n)*?%b(?:\n|\Z)" % (_BEGIN, _BEGIN, _END.rstrip()), re.MULTILINE)
"""A whole script in a file, with the line end before it; a file that was made for the script begins without one."""


def completion(
    *,
    shell: Annotated[Shell | None, Argument("bash|zsh|fish", "The shell to complete in (default: $SHELL).")] = None,
    install: Annotated[bool, Flag("Add the script to the shell's start-up file.")] = False,
    uninstall: Annotated[bool, Flag("Remove the script from the start-up file.")] = False,
    yes: Annotated[bool, Flag("Write the file without asking.")] = False,
) -> int:
    """Print a completion script for bash, zsh or fish, or install it.

    --install shows what it adds to ~/.bashrc, ~/.zshrc or ~/.config/fish/completions/ctxasm.fish, and asks first. Or
    put `eval "$(ctxasm completion bash)"` into that file by hand (in zsh, after `compinit`).
    """
    if install and uninstall:
        raise ContextasmError("--uninstall", "can't be used with --install", "leave one of them out")
    shell = shell or _shell_of_person()
    if install or uninstall:
        return _change_file(shell, removes=uninstall, yes=yes)
    if yes:
        raise ContextasmError("--yes", "has no effect here", "add --install or --uninstall")
    write_stdout(_script(shell))
    return 0


run = Command(completion, ())


def _shell_of_person() -> Shell:
    name = os.path.basename(os.environ.get("SHELL", ""))
    for shell in _FILES:
        if shell == name:
            return shell
    what = f"there is no script for the shell {name}" if name else "SHELL is not set"
    raise ContextasmError("completion", what, "name bash, zsh or fish, for example with `ctxasm completion bash`")


def _script(shell: Shell) -> str:
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    return str(get_completion_script(prog_name="ctxasm", complete_var="_CTXASM_COMPLETE", shell=shell)) + "\n"


def _change_file(shell: Shell, *, removes: bool, yes: bool) -> int:
    """Show the change of the file that a shell reads, and make it after a yes; returns the exit code."""
    from contextasm.cli.build_files import confirm_change
    from contextasm.workspace.atomic import make_folders, write
    from contextasm.workspace.outputs import current_bytes

    variable, folder, name = _FILES[shell]
    path = Path(os.environ.get(variable) or Path.home() / folder, name)
    old = current_bytes(path)
    script = _COMPINIT * (shell == "zsh") + _script(shell).lstrip("\n")
    new = _changed(old, None if removes else script, path)
    if new == old:
        write_stderr(f"{path}: unchanged")
        return 0
    if not confirm_change(path, old or b"", new or b"", yes=yes):
        return 1
    make_folders(path.parent)
    write(path, new)
    write_stderr(f"{path}: {'removed' if new is None else 'written; start a new shell to use it'}")
    return 0


def _changed(old: bytes | None, script: str | None, path: Path) -> bytes | None:
    """The content of a file with this script in place of all earlier ones, or without any for None.

    None is a file that does not exist: one that was made for the script is empty without it.
    """
    text, *rest = parts = _BLOCK.split(old or b"")
    if any(b"\n" + _BEGIN in b"\n" + part for part in parts):
        raise ContextasmError(str(path), f"the line `{_END.decode().strip()}` is missing", "add it below the script")
    was_made = old is None or old.startswith(_BEGIN)
    if script is not None:
        text += b"\n" * (not was_made) + _BEGIN + script.encode() + _END
    for part in rest:
        is_joined = text and part and not text.endswith(b"\n")
        text += b"\n" * bool(is_joined) + part
    return None if was_made and not text else text


def complete(group: Any) -> int:
    """Print the completions for the words that a shell passes in the environment; the exit code.

    An error gives no completions and no message, which would be in the line that is being typed.
    """
    from typer.completion import completion_init  # type: ignore[attr-defined]

    completion_init()
    try:
        group.main(prog_name="ctxasm")
    except SystemExit as end:
        return int(end.code or 0)
    except Exception:  # noqa: BLE001
        return 1
    return 0


def known_values(kind: str, typed: Mapping[str, Any], incomplete: str) -> Sequence[str]:
    """The values of a kind: profiles, tokenizers, formats and audiences, and what a workspace has.

    That is agents, teams, records, memories, sessions, tasks, layers, strategies and the actions of `tidy`. `typed`
    are the parameters of the line, and `incomplete` is the word that is typed: of a list, all but the last name
    stay. Empty for a workspace that is missing or can't be read. A value that a shell could evaluate is left out:
    see `_is_plain`.
    """
    from contextasm.config.input.options import Options
    from contextasm.config.profiles.loader import shipped
    from contextasm.config.resolve import process_environment
    from contextasm.model import AUDIENCES
    from contextasm.rendering.formats import FORMATS
    from contextasm.selection.tokens import TOKENIZERS

    values = {"profile": shipped(), "tokenizer": [*TOKENIZERS], "format": [*FORMATS], "audience": AUDIENCES}
    if kind in values:
        return values[kind]
    named = {name: typed[name] for name in ("workspace", "agent", "team", "profile") if typed.get(name)}
    if "workspace" in named:
        named["workspace"] = os.path.expanduser(named["workspace"])
    first, comma, _ = incomplete.rpartition(",")
    try:
        found = _values_of_workspace(kind, Options(**named, offline=True), process_environment())
    except Exception:  # noqa: BLE001
        return ()
    return [value for value in (f"{first}{comma}{value}" for value in found) if _is_plain(value)]


def _is_plain(value: str) -> bool:
    """Whether no shell evaluates any character of a value, which may come from another person's workspace.

    zsh evaluates each completion that it gets, and bash puts it into the line as it is.
    """
    from unicodedata import category

    return value[:1] not in {"-", "="} and all(sign in "-_.:/@+,=" or category(sign)[0] in "LMN" for sign in value)


def _values_of_workspace(kind: str, options: Options, process: ProcessEnvironment) -> Iterable[str]:
    """The values of a kind in the workspace of the options. Raises `ContextasmError` if it can't be read."""
    if kind == "action":
        from contextasm.upkeep.plan import make_plan, prepare_upkeep  # here: it loads the most

        return [action.id for action in make_plan(prepare_upkeep(options, process))]
    from contextasm.config.owners import owner_names
    from contextasm.config.workspace_folder import open_workspace
    from contextasm.memories.owner import find_owner, known_ids
    from contextasm.records.replay import record_paths

    if kind in {"agent", "team"}:
        return owner_names(open_workspace(options, process), cast("OwnerKind", kind))
    if kind == "record":
        return [path.stem for path in record_paths(Path(open_workspace(options, process).root))]
    owner = find_owner(options, process, needed=False)
    if kind == "memory":
        return sorted(known_ids(owner, process).names())
    if kind in {"session", "task"}:
        return _values_of_sessions(kind, owner)
    layers = [layer.id + "=" * (kind == "limit") for layer in owner.profile.layers]
    return layers if kind in {"layer", "limit"} else dict(owner.profile.strategies)


def _values_of_sessions(kind: str, owner: Owner) -> Sequence[str]:
    """The ids of the sessions that the profile of an owner reads, or of the tasks of their events."""
    from contextasm.retrieval.reading.audience import session_patterns
    from contextasm.text.data.events import parse_events

    paths = [path for pattern in session_patterns(owner.profile) for path in owner.workspace.list(pattern)]
    if kind == "session":
        return sorted({Path(path).stem for path in paths})
    documents = [read for path in paths if isinstance(read := owner.workspace.read(path), Document)]
    return sorted({event.task for document in documents for event in parse_events(document)[0]} - {""})
