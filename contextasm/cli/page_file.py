"""The file of a page (`--html`): named, settled before a build, and written whole; and what a shared page refuses."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self

from contextasm.cli.output import write_stderr

if TYPE_CHECKING:
    from contextasm.cli.commands.replay import OpenedRecord
    from contextasm.config.build import PreparedBuild
    from contextasm.config.input.options import Options
    from contextasm.workspace.outputs import OutputFile


class PageFile(NamedTuple):
    """The file that a page goes to."""

    target: OutputFile

    @classmethod
    def named(cls, path: str) -> Self:
        """The file that `--html` names. Raises `ContextasmError` for `-` and for an empty name."""
        from contextasm.model import ContextasmError
        from contextasm.workspace.outputs import OutputFile

        if path == "-":
            raise ContextasmError("--html", "- is no file", "name a file, such as context.html")
        return cls(OutputFile.named("page", path))

    def refuse_inputs(self, jobs: Sequence[PreparedBuild], records: Sequence[OpenedRecord] = ()) -> None:
        """Raise `ContextasmError` where a page can't be written, or would replace a record or what a build could read.

        `jobs` are the builds that are shown, `records` the records; what a build like one of them reads counts, too.
        """
        from contextasm.cli.build_options import with_options_of
        from contextasm.config.input.options import Options
        from contextasm.config.inputs import build_inputs
        from contextasm.config.resolve import process_environment
        from contextasm.model import ContextasmError
        from contextasm.workspace.atomic import refuse_unwritable
        from contextasm.workspace.outputs import file_identity, refuse_inputs

        for opened in records:
            folder = opened.path.absolute().parent
            if self.target.identity == file_identity(str(folder / opened.path.name)):
                where = f"{self.target.option} {self.target.path}"
                raise ContextasmError(where, "this is the record that is read", "name another file to write to")
        process = process_environment()
        like = [with_options_of(Options(), [opened]).prepare(process) for opened in records if opened.root]
        for job in (*jobs, *like):
            refuse_inputs([self.target], build_inputs(job, Path.cwd()))
        refuse_unwritable(self.target.path)

    def write(self, text: str) -> None:
        """Write the page, whole or not at all, and the name of its file to standard error."""
        from contextasm.workspace.atomic import as_bytes, write

        changed = write(self.target.path, as_bytes(text))
        write_stderr(f"{self.target.path}: {'written' if changed else 'unchanged'}")


def refuse_personal(records: Sequence[OpenedRecord], options: Options) -> None:
    """Raise `ContextasmError` for a personal record, unless the page is asked to be personal, too."""
    from contextasm.model import PERSONAL, ContextasmError

    for opened in records:
        if opened.record.request.audience == PERSONAL != options.audience:
            what = "this record may hold private parts, and a page is shared"
            hint = "add --audience personal for a page of your own, or record the build with --audience shared"
            raise ContextasmError(str(opened.path), what, hint)


def load_style() -> str:
    """The style sheet of pages, as shipped with this package."""
    return (Path(__file__).parent.parent / "rendering" / "page.css").read_text(encoding="utf-8")
