"""`ctxasm export`: write memories for other programs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from contextasm.cli.command_line import Command
from contextasm.cli.options import QuietOption
from contextasm.cli.output import show_problems, write_stderr, write_stdout
from contextasm.cli.owner import READ_OWNER
from contextasm.config.input.options import Flag, Options
from contextasm.config.input.values import one_of
from contextasm.config.inputs import build_inputs
from contextasm.config.resolve import prepare_build, process_environment
from contextasm.memories.export import ExportedMemories, exported_memories
from contextasm.memories.owner import Owner, find_owner
from contextasm.model import AUDIENCES, SHARED, ContextasmError, Memory
from contextasm.text.exchange.json_formats import write_json_lines
from contextasm.text.exchange.okf import write_okf
from contextasm.workspace.atomic import as_bytes, write
from contextasm.workspace.exchange_files import refuse_filled_folder, write_folder
from contextasm.workspace.outputs import OutputFile, refuse_inputs


def export_memories(
    options: Options,
    *,
    form: Annotated[
        Literal["jsonl", "okf"],
        Flag("--format -f", "jsonl|okf", "JSON lines, which `import jsonl` takes, or OKF."),
    ] = "jsonl",
    output: Annotated[str | None, Flag("-o", "PATH", "Write to this file; for okf, a new or empty folder.")] = None,
    quiet: QuietOption = False,
) -> int:
    """Write the memories of an agent or a team, of every status, for other programs.

    What leaves is for others: private memories stay, unless --audience personal asks for them. Hidden characters are
    removed and secrets masked, and both are named with their places.
    """
    audience = SHARED if options.audience is None else str(one_of(AUDIENCES)(options.audience, "--audience"))
    owner = find_owner(options, process_environment(), reads_memories=True)
    patterns = owner.memory_files or [f"{owner.path}/memories/*.md"]
    exported = exported_memories(owner.workspace, patterns, audience, options, process_environment())
    if form == "okf":
        _write_bundle(options, owner, exported.memories, output, private=audience != SHARED)
    else:
        _write_lines(options, owner, exported.memories, output)
    show_problems([*owner.problems, *exported.problems])
    if not quiet:
        _show_receipt(exported, owner)
    return 0


run = Command(export_memories, (*READ_OWNER, "audience", "profile"))


def _write_lines(options: Options, owner: Owner, memories: Sequence[Memory], output: str | None) -> None:
    text = write_json_lines(memories)
    if output is None or output == "-":
        write_stdout(text)
        return
    write(_settled_path(options, owner, output), as_bytes(text))


def _write_bundle(
    options: Options, owner: Owner, memories: Sequence[Memory], output: str | None, *, private: bool
) -> None:
    if not output or output == "-":
        raise ContextasmError("--format okf", "is a folder of files", "name a new folder with -o DIR")
    refuse_filled_folder(output)
    _settled_path(options, owner, f"{output}/index.md")
    write_folder(output, ((name, as_bytes(text)) for name, text in write_okf(memories)), private=private)


def _settled_path(options: Options, owner: Owner, output: str) -> Path:
    """The path of an output. Raises `ContextasmError` for a file that a build could read."""
    process = process_environment()
    target = OutputFile.named("text", output)
    # The inputs are the files of every layer and agent: it does not matter what this build would show.
    prepared = prepare_build(
        options._replace(agent=None, team=None, audience=None),
        process,
        owner.workspace,
        restrict_profile=lambda profile: profile._replace(layers=()),
    )
    refuse_inputs([target], build_inputs(prepared, process.folder))
    return target.path


def _show_receipt(exported: ExportedMemories, owner: Owner) -> None:
    count, private = len(exported.memories), exported.private
    line = f"ctxasm: exported {count:,} memor{'y' if count == 1 else 'ies'} of {owner.path or 'the workspace'}"
    if private:
        words = f"{private:,} private memor{'y' if private == 1 else 'ies'}"
        line += f"; left out {words} (--audience personal exports {'it' if private == 1 else 'them'})"
    write_stderr(line)
