"""Source `instructions`: what coding agents read, from the root of a repository down to the open files.

Each file, an imported one too, is a fragment of its own.
"""

from __future__ import annotations

from contextasm.model import Fragment, FragmentDisplay, Layer, Reason, RetrievalResult, SourceQuery, Verdict
from contextasm.retrieval.reading.instruction_files import InstructionFile, read_instruction_files
from contextasm.text.markdown.blocks import passage, trimmed
from contextasm.text.names.templates import fill_template, one_line


def instructions(query: SourceQuery) -> RetrievalResult:
    """The layer's files as fragments: the root's first, the nearest to an open file last, imports behind the importer.

    A rule for files of which none is open is an excluded fragment.
    """
    read = read_instruction_files(query.build.workspace, query.layer, query.build.request)
    fragments = tuple(_file_fragment(file, query.layer, place) for place, file in enumerate(read.files))
    return RetrievalResult(fragments, tuple(file.document for file in read.files), read.problems)


def _file_fragment(file: InstructionFile, layer: Layer, place: int) -> Fragment:
    document = file.document
    blank, text = trimmed(document.text)
    location, text = passage(document, document.line + blank, text)
    return Fragment(
        document.path,
        location,
        text,
        FragmentDisplay(
            layer.heading[0],
            group=fill_template(layer.display.group_template, {"path": document.path}),
            place=(place,),
            keep=layer.overflow.keep,
        ),
        verdict=Verdict(excluded=_exclusion(file, text)),
    )


def _exclusion(file: InstructionFile, text: str) -> Reason | None:
    if file.fault_line and not file.is_applied:
        return Reason.of("front-matter", line=file.fault_line)
    if not file.is_applied:
        globs = one_line(", ".join(file.globs))[:200]
        return Reason.of("not-open", globs=globs) if globs else Reason("on-request")
    return None if text else Reason("blank")
