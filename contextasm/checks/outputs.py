"""The check of files that were built: built again in memory, they have to come out the same. None is written."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from shlex import quote

from contextasm.checks.config import as_finding
from contextasm.checks.finding import Finding
from contextasm.checks.inspection import Inspection, error_finding, whole_text
from contextasm.config.options import Options
from contextasm.config.outputs import Output, parse_outputs
from contextasm.config.resolve import prepare_build
from contextasm.config.settings import FILE, load_settings_file
from contextasm.model import ContextasmError, Document
from contextasm.rendering.formats import FORMATS
from contextasm.text.managed_block import BrokenBlock, find_block


def check_stale_outputs(scene: Inspection) -> Iterator[Finding]:
    """Outputs that differ from what a build gives now, are missing, or can't be built."""
    try:
        listed = parse_outputs(load_settings_file(scene.workspace.folder))
    except ContextasmError:
        # Told of by the check of the settings.
        return
    for output in listed:
        try:
            text = _built(scene, output)
        except ContextasmError as wrong:
            finding = as_finding(wrong, scene.workspace.folder.root)
            yield error_finding(FILE, output.line, f"{output.file} can't be built: {finding.message}", wrong.hint)
            continue
        read = scene.workspace.read(output.file)
        if not isinstance(read, Document):
            what = read.message if read else "is missing"
            yield error_finding(
                output.file, 0, f"{what}, and {FILE} lists it as an output", f"run `{_command(output)}`"
            )
        elif read.data != text.encode():
            yield error_finding(output.file, 0, "is stale: a build gives another text now", f"run `{_command(output)}`")


def check_managed_blocks(scene: Inspection) -> Iterator[Finding]:
    """Managed blocks that were edited by hand, or whose markers make none any more."""
    for path, document in scene.documents.items():
        text = whole_text(document)
        block = find_block(text)
        if isinstance(block, BrokenBlock):
            hint = "put one begin marker above one end marker, or delete both"
            yield error_finding(path, block.line, f"the markers of the managed block are broken: {block.what}", hint)
        elif block and block.edited:
            hint = "move the edit out of the block, then run `ctxasm build --into` with --force"
            yield error_finding(path, block.line, "the managed block was edited by hand", hint)


def _built(scene: Inspection, output: Output) -> str:
    """The text that the output's build gives now."""
    flags = Options(workspace=scene.workspace.folder.root, date=scene.flags.date, tz=scene.flags.tz)
    flags = flags._replace(**dict(output.words))  # type: ignore[arg-type]
    # The path of a profile is one of the workspace, wherever the check is run.
    around = scene.around._replace(folder=Path(scene.workspace.folder.root))
    job = prepare_build(flags, around)
    return FORMATS[job.build.request.format](job.run(job.in_full._replace(workspace=scene.workspace)))


def _command(output: Output) -> str:
    """The command that writes an output."""
    words = [word for key, value in output.words for word in (f"--{key}", quote(value))]
    return " ".join(("ctxasm build", *words, "-o", quote(output.file)))
