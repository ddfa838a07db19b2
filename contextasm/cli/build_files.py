"""The files that `build` is asked to write: named, settled and written, or compared with what they hold."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Self

from contextasm.cli.output import progress_line, write_stderr, write_stderr_lines
from contextasm.config.build import PreparedBuild
from contextasm.model import Context, ContextasmError, NamedTuple
from contextasm.workspace import outputs
from contextasm.workspace.atomic import as_bytes, refuse_unwritable, write
from contextasm.workspace.folder import Folder

if TYPE_CHECKING:
    from pathlib import Path

    from contextasm.rendering.prometheus import BuildTimes

Reports = Mapping[str, str]
"""The texts of the other files of a build, by their kinds (`workspace.outputs.REPORTS`)."""


class RequestedFiles(NamedTuple):
    """The files that a build writes, and whether its text goes to standard output."""

    targets: Sequence[outputs.OutputFile]
    """Empty if the text goes to standard output only."""
    uses_stdout: bool

    @classmethod
    def named(cls, output: str | None, into: Sequence[str], reports: Mapping[str, str | None], *, check: bool) -> Self:
        """The files that the options name; `reports` by their kinds, None for none.

        Raises `ContextasmError` for names that do not go together.
        """
        uses_stdout = output == "-" or not (output or into)
        typed = {kind: path for kind, path in reports.items() if path is not None}
        if check and not into and output in {None, "-"}:
            raise ContextasmError("--check", "no file to check is named", "name one with -o FILE or --into FILE")
        taken = "the context" if uses_stdout else ""
        for kind in (kind for kind, path in typed.items() if path == "-"):
            if taken:
                hint = "name a file for one of the two, such as -o FILE"
                raise ContextasmError(f"--{kind}", f"standard output already gets {taken}", hint)
            taken = f"the file of --{kind}"

        files = {kind: path for kind, path in typed.items() if path != "-"}
        return cls(outputs.output_files(None if output == "-" else output, into, **files), uses_stdout)

    def refuse_inputs(self, job: PreparedBuild) -> None:
        """Raise `ContextasmError` for a file that a build could read."""
        if not self.targets:
            return
        from contextasm.config.inputs import build_inputs

        outputs.refuse_inputs(self.targets, build_inputs(job, os.getcwd()))

    @property
    def any_missing(self) -> bool:
        """Whether a file to write does not exist, or has no managed block yet."""
        return any(map(outputs.is_missing, self.targets))

    def check(self, text: str, *, force: bool) -> int:
        """Write the differences of stale files to standard error; returns the exit code, 1 for a stale file.

        Manifest and metrics are not compared. Raises `ContextasmError` for a file that could not be written.
        """
        files = [outputs.pending_write(target, as_bytes(text), force=force) for target in self._texts]
        code = 0
        for target, data in files:
            if (old := outputs.current_bytes(target.path)) != data:
                write_file_diff(target.path, old or b"", data or b"", "expected")
                write_stderr(f"ctxasm: error: {target.path}: is stale: run the same command without --check")
                code = 1
        return code

    @contextmanager
    def settled(
        self, text: str | None, reports: Reports, workspace: Folder, *, force: bool, quiet: bool
    ) -> Iterator[Sequence[outputs.PendingWrite]]:
        """The files with the bytes that each should hold; for no text, those without their managed blocks.

        If one has a managed block, the lock of the workspace is held: its other text must not change before it is
        written. Raises `ContextasmError` for a file that can't be written, before any is.
        """
        files = self._settle(text, reports, force=force)  # once before the lock: a refused build makes no lock file
        if any(target.managed for target in self.targets):
            with _lock(workspace, quiet=quiet):
                yield self._settle(text, reports, force=force)
        else:
            yield files

    def _settle(self, text: str | None, reports: Reports, *, force: bool) -> Sequence[outputs.PendingWrite]:
        data = None if text is None else as_bytes(text)
        files = (
            *(outputs.pending_write(target, data, force=force) for target in self._texts),
            *((target, as_bytes(reports[target.kind])) for target in self.targets if target.kind in outputs.REPORTS),
        )
        for target, _ in files:
            refuse_unwritable(target.path)
        return files

    @property
    def _texts(self) -> Sequence[outputs.OutputFile]:
        return [target for target in self.targets if target.kind not in outputs.REPORTS]


@contextmanager
def _lock(workspace: Folder, *, quiet: bool) -> Iterator[None]:
    """Hold the lock of the workspace; a long wait for it is shown on a terminal."""
    from contextasm.cli.owner import show_recovery
    from contextasm.workspace.editing.files import locked

    with ExitStack() as held:
        with progress_line(f"waiting for another ctxasm to write in {workspace.root}", quiet=quiet):
            show_recovery(held.enter_context(locked(workspace, edits=False)))
        yield


def write_files(files: Sequence[outputs.PendingWrite], *, quiet: bool) -> None:
    """Write the files whose bytes differ."""
    for target, data in files:
        outcome = "unchanged" if not write(target.path, data) else "removed" if data is None else "written"
        if not quiet and target.kind not in outputs.REPORTS:
            write_stderr(f"{target.path}: {outcome}")


def write_file_diff(path: Path, old: bytes, new: bytes, label: str) -> None:
    """Write the difference of two contents of a file to standard error, the second of which has this label."""
    from difflib import unified_diff

    from contextasm.text.cleaning.clean import shown_name

    before, after = (data.decode("utf-8", "replace").splitlines(keepends=True) for data in (old, new))
    name = shown_name(str(path))
    for line in unified_diff(before, after, f"{name} (current)", f"{name} ({label})"):
        write_stderr_lines(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file")


def confirm_change(path: Path, old: bytes, new: bytes, *, yes: bool) -> bool:
    """Show the change of a person's file; whether to make it: after `yes`, or after a yes on a terminal."""
    write_file_diff(path, old, new, "new")
    if not yes and sys.stdin and sys.stdin.isatty():
        write_stderr("write this? [y/N]")
        yes = sys.stdin.readline().strip().lower() in {"y", "yes"}
    if not yes:
        write_stderr("ctxasm: nothing was written; --yes writes without asking")
    return yes


def metrics_text(context: Context, times: BuildTimes, root: str) -> str:
    """The metrics of a context of the workspace at `root`, as a Prometheus text file."""
    from contextasm.rendering.prometheus import build_labels, build_series, exposition

    return exposition(build_series(context, times), build_labels(context, os.path.basename(root)))
