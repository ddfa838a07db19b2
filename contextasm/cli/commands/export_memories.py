"""`ctxasm export`: write memories for other programs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from contextasm.cli.build_files import RequestedFiles, write_files
from contextasm.cli.command_line import Command
from contextasm.cli.host_cap import within_limits
from contextasm.cli.options import QuietOption, run_build
from contextasm.cli.output import show_problems, write_stderr, write_stdout
from contextasm.cli.owner import READ_OWNER, refuse_outputs
from contextasm.config.input.options import Flag, Options, Text
from contextasm.config.input.values import one_of
from contextasm.config.input.yaml_loader import load_yaml
from contextasm.config.resolve import prepare_build, process_environment
from contextasm.memories.export import exported_memories
from contextasm.memories.owner import Owner, find_owner
from contextasm.model import AUDIENCES, SHARED, ContextasmError, Memory, Problem, system_errors
from contextasm.rendering.formats import format_context
from contextasm.text.exchange.claude import INDEX_PROFILE, claude_code_pages
from contextasm.text.exchange.json_formats import write_json_lines
from contextasm.text.exchange.pages import write_okf
from contextasm.workspace.atomic import as_bytes, remove_torn, write
from contextasm.workspace.editing.files import locked, writable_path
from contextasm.workspace.exchange_files import folder_sources, refuse_filled_folder, write_folder
from contextasm.workspace.folder import Folder
from contextasm.workspace.outputs import OutputFile, pending_write


def export_memories(
    options: Options,
    *,
    form: Annotated[
        Literal["jsonl", "okf", "claude-code"],
        Flag("JSON lines, OKF, or a memory folder of Claude Code.", "jsonl|okf|claude-code", "--format -f"),
    ] = "jsonl",
    output: Annotated[
        Text, Flag("The file to write (for okf, a new folder; for claude-code, any folder).", "PATH", "-o")
    ] = None,
    quiet: QuietOption = False,
) -> None:
    """Write all memories of an agent or a team, with any status, for other programs.

    Private memories are left out; --audience personal includes them. Hidden characters are removed and secrets are
    masked; each one is reported.
    """
    audience = SHARED if options.audience is None else str(one_of(AUDIENCES)(options.audience, "--audience"))
    owner = find_owner(options, process_environment(), reads_memories=True)
    memories, left_out, found = exported_memories(owner, audience)
    problems, private = [*owner.problems, *found], audience != SHARED
    if form == "claude-code":
        problems += _write_claude_code(options, owner, memories, output, private=private)
    elif form == "okf":
        _write_bundle(options, owner, memories, output, private=private)
    else:
        _write_lines(options, owner, memories, output)
    show_problems(problems)
    if not quiet:
        _show_receipt(len(memories), left_out, owner)


run = Command(export_memories, (*READ_OWNER, "audience", "profile"))


def _write_lines(options: Options, owner: Owner, memories: Sequence[Memory], output: str | None) -> None:
    text = write_json_lines(memories)
    if output is None or output == "-":
        write_stdout(text)
        return
    target = OutputFile.named("text", output)
    refuse_outputs([target], owner.workspace, options)
    write(target.path, as_bytes(text))


def _write_bundle(
    options: Options, owner: Owner, memories: Sequence[Memory], output: str | None, *, private: bool
) -> None:
    folder = _named_folder("okf", output, "name a new folder with -o DIR")
    refuse_filled_folder(folder)
    refuse_outputs([OutputFile.named("text", f"{folder}/index.md")], owner.workspace, options)
    write_folder(folder, ((name, as_bytes(text)) for name, text in write_okf(memories)), private=private)


def _named_folder(form: str, output: str | None, hint: str) -> str:
    """The folder that `-o` names. Raises `ContextasmError` for none and for standard output."""
    if not output or output == "-":
        raise ContextasmError(f"--format {form}", "writes a folder", hint)
    return output


def _write_claude_code(
    options: Options, owner: Owner, memories: Sequence[Memory], output: str | None, *, private: bool
) -> Sequence[Problem]:
    """Write the pages that differ into a folder, which may hold others, and then their index; the pages that stay.

    Each file is written whole, so an export that was interrupted is completed by the next one.
    """
    path = _named_folder("claude-code", output, "name the folder with -o DIR")
    index = OutputFile.named("block", f"{path}/MEMORY.md")
    try:
        pending_write(index, b"")
    except ContextasmError as error:  # a block that was edited by hand
        hint = "move your edits out of the block, or delete the block; the export writes it again"
        raise ContextasmError(error.where, error.what, hint, error.code) from error
    present = folder_sources(path, ("*.md",)) if os.path.isdir(path) else {}
    pages, _ = claude_code_pages(memories, present, load_yaml)
    targets = [OutputFile.named("text", f"{path}/{name}") for name in (*pages, index.path.name)]
    refuse_outputs(targets, owner.workspace, options)
    if not os.path.isdir(path):
        with system_errors(path, "can't be made", "name another folder, or make its parent first"):
            os.mkdir(path, 0o700 if private else 0o777)
    folder = Folder(Path(path))
    with locked(folder):
        pages, problems = claude_code_pages(memories, folder_sources(path, ("*.md",)), load_yaml)
        remove_torn(Path(path), [*pages, index.path.name])
        for name, text in pages.items():
            write(writable_path(folder, name), as_bytes(text), new_mode=0o600 if private else None)
    _write_index(folder, index)
    return problems


def _write_index(folder: Folder, target: OutputFile) -> None:
    """Write the index of a folder as a build of its own does; no index if the folder has nothing to show."""
    process = process_environment()
    # Other settings of the person are for builds of the workspace.
    given = process.environment.items()
    own = {name: value for name, value in given if not name.startswith("CTXASM_") or name == "CTXASM_DATE"}
    job = prepare_build(Options(profile=INDEX_PROFILE), process._replace(environment=own), folder)
    job = within_limits(job, [target])
    context = run_build(job, job.build, quiet=True)
    files = RequestedFiles([target], uses_stdout=False)
    if context.sections or not files.any_missing:
        with files.settled(format_context(context), {}, folder, force=False, quiet=True) as writes:
            write_files(writes, quiet=True)


def _show_receipt(count: int, private: int, owner: Owner) -> None:
    line = f"ctxasm: exported {count:,} memor{'y' if count == 1 else 'ies'} of {owner.path or 'the workspace'}"
    if private:
        words = f"{private:,} private memor{'y' if private == 1 else 'ies'}"
        line += f"; left out {words} (--audience personal exports {'it' if private == 1 else 'them'})"
    write_stderr(line)
