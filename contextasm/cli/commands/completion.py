"""`ctxasm completion`: typer's completion script for a shell, and the answers when the script asks for them.

The script calls `ctxasm` at each TAB with the variable `_CTXASM_COMPLETE`, which typer derives from the program's name.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

from contextasm.cli.command_line import Argument, Command
from contextasm.cli.output import write_stdout

if TYPE_CHECKING:
    from contextasm.text.names.places import OwnerKind


def print_script(
    shell: Annotated[Literal["bash", "zsh", "fish"], Argument("bash|zsh|fish", "The shell to complete in.")],
) -> int:
    """Print a completion script for bash, zsh or fish.

    For bash and zsh, put `eval "$(ctxasm completion bash)"` (or `zsh`) into ~/.bashrc or ~/.zshrc, in zsh after
    `compinit`. For fish, save the script as ~/.config/fish/completions/ctxasm.fish.
    """
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    write_stdout(get_completion_script(prog_name="ctxasm", complete_var="_CTXASM_COMPLETE", shell=shell) + "\n")
    return 0


run = Command(print_script)


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


def known_values(field: str, workspace: str | None) -> Sequence[str]:
    """The values of a field of `Options`: profiles, tokenizers, formats, or agents or teams of the workspace.

    Of `record`, the ids of the workspace's records. Empty for a workspace that is missing or can't be read.
    """
    from os.path import expanduser
    from pathlib import Path

    from contextasm.config.input.options import Options
    from contextasm.config.owners import owner_names
    from contextasm.config.profiles.loader import shipped
    from contextasm.config.resolve import process_environment
    from contextasm.config.workspace_folder import open_workspace
    from contextasm.model import AUDIENCES
    from contextasm.records.replay import record_paths
    from contextasm.rendering.formats import FORMATS
    from contextasm.selection.tokens import TOKENIZERS

    values = {"profile": shipped(), "tokenizer": [*TOKENIZERS], "format": [*FORMATS], "audience": AUDIENCES}
    if field in values:
        return values[field]
    options = Options(workspace=workspace and expanduser(workspace))
    try:
        folder = open_workspace(options, process_environment())
        if field == "record":
            return [path.stem for path in record_paths(Path(folder.root))]
        return owner_names(folder, cast("OwnerKind", field))
    except Exception:  # noqa: BLE001
        return ()
