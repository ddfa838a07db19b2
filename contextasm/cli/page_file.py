"""The file of a page (`--html`): named, settled before a build, and written whole; and what a shared page refuses."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from contextasm.checks.hosts.files import HostReading
from contextasm.cli.commands.replay import OpenedRecord, with_options_of
from contextasm.cli.output import write_stderr
from contextasm.config.build import PreparedBuild
from contextasm.config.input.options import Options
from contextasm.config.inputs import build_inputs
from contextasm.config.resolve import prepare_build, process_environment
from contextasm.model import PERSONAL, ContextasmError, Document
from contextasm.workspace.atomic import as_bytes, refuse_unwritable, write
from contextasm.workspace.outputs import OutputFile, file_identity, refuse_inputs
from contextasm.workspace.reading import required_bytes


def refuse_page(page: OutputFile, jobs: Sequence[PreparedBuild], records: Sequence[OpenedRecord] = ()) -> None:
    """Raise `ContextasmError` if a page can't be written, or would replace a record or what a build could read.

    `jobs` are the builds that are shown, `records` the records; what a build like one of them reads counts, too.
    """
    for opened in records:
        if page.identity == file_identity(str(opened.path.absolute())):
            where = f"{page.option} {page.path}"
            raise ContextasmError(where, "this command reads the record in this file", "name another file to write to")
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
            what = "the record may hold private parts, but the audience is shared"
            hint = "use --audience personal if only you read the output, or record the build with --audience shared"
            raise ContextasmError(str(opened.path), what, hint)


def write_host_page(readings: Sequence[HostReading], options: Options, name: str) -> None:
    """Write the page of what hosts load. Private parts are left out, unless the audience is personal.

    Raises `ContextasmError` for a folder of which nobody can say what is private in it, because no build can be made,
    and for a file that a build could read or a host loads.
    """
    from contextasm.checks.hosts.page import host_page  # here: other pages need none of these
    from contextasm.rendering.context_page import audience_words
    from contextasm.retrieval.reading.audience import SharedWorkspace, for_audience
    from contextasm.text.cleaning.clean import decode_document

    process, page = process_environment(), OutputFile.named("page", name)
    # Its layers are not needed: the paths of private ones are with the profile.
    job = prepare_build(options, process, restrict_profile=lambda whole: whole._replace(layers=()), targets=[page])
    refuse_page(page, [job])
    root = readings[0].root
    for path in (file.path for reading in readings for file in reading.found):
        if page.identity == file_identity(os.path.join(root, os.path.expanduser(path))):
            raise ContextasmError(
                f"{page.option} {page.path}", "a host loads this file", "name another file to write to"
            )
    visible = for_audience(job.build).workspace

    def private_lines(path: str, text: str) -> frozenset[int]:
        if not isinstance(visible, SharedWorkspace):
            return frozenset()
        if path.startswith(("~", "/", "..")):  # a file of the person's own
            return frozenset(range(1, text.count("\n") + 2))
        own = os.path.relpath(os.path.join(root, path), job.workspace.root)
        document = decode_document(own, text.encode())
        return visible.private_lines(document) if isinstance(document, Document) else frozenset()

    folder = os.path.basename(os.path.join(root, readings[0].folder).rstrip("/"))
    text = host_page(readings, load_style(), folder, private_lines, audience_words(job.build.request))
    write_page(page, text)


def load_style() -> str:
    """The style sheet of pages, as shipped with this package."""
    return required_bytes(str(Path(__file__).parent.parent / "rendering" / "page.css"), "install ctxasm again").decode()
