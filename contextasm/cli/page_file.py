"""The file of a page (`--html`): named, settled before a build, and written whole; and what a shared page refuses."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from contextasm.cli.commands.replay import OpenedRecord, with_options_of
from contextasm.cli.output import write_stderr
from contextasm.config.build import PreparedBuild
from contextasm.config.input.options import Options
from contextasm.config.inputs import build_inputs
from contextasm.config.resolve import prepare_build, process_environment
from contextasm.model import PERSONAL, ContextasmError
from contextasm.workspace.atomic import as_bytes, refuse_unwritable, write
from contextasm.workspace.outputs import OutputFile, file_identity, refuse_inputs


def page_file(path: str) -> OutputFile:
    """The file that `--html` names. Raises `ContextasmError` for `-` and for an empty name."""
    if path == "-":
        raise ContextasmError("--html", "- is not a file", "name a file, such as context.html")
    return OutputFile.named("page", path)


def refuse_page(page: OutputFile, jobs: Sequence[PreparedBuild], records: Sequence[OpenedRecord] = ()) -> None:
    """Raise `ContextasmError` if a page can't be written, or would replace a record or what a build could read.

    `jobs` are the builds that are shown, `records` the records; what a build like one of them reads counts, too.
    """
    for opened in records:
        folder = opened.path.absolute().parent
        if page.identity == file_identity(str(folder / opened.path.name)):
            where = f"{page.option} {page.path}"
            raise ContextasmError(where, "this is the record that is read", "name another file to write to")
    process = process_environment()
    like = (with_options_of(Options(), [opened]) for opened in records if opened.root)
    for job in (*jobs, *(prepare_build(options, process, stored_profile=profile) for options, profile in like)):
        refuse_inputs([page], build_inputs(job, process.folder))
    refuse_unwritable(page.path)


def write_page(page: OutputFile, text: str) -> None:
    """Write a page, whole or not at all, and the name of its file to standard error."""
    changed = write(page.path, as_bytes(text))
    write_stderr(f"{page.path}: {'written' if changed else 'unchanged'}")


def refuse_personal(records: Sequence[OpenedRecord], options: Options) -> None:
    """Raise `ContextasmError` for a personal record, unless the output is asked to be personal, too."""
    for opened in records:
        if opened.record.context.request.audience == PERSONAL != options.audience:
            what = "this record may hold private parts, and the audience is shared"
            hint = "use --audience personal if only you read the output, or record the build with --audience shared"
            raise ContextasmError(str(opened.path), what, hint)


def load_style() -> str:
    """The style sheet of pages, as shipped with this package."""
    return (Path(__file__).parent.parent / "rendering" / "page.css").read_text(encoding="utf-8")
