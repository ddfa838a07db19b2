"""`ctxasm watch`: build, and build again on change."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from contextasm.cli.options import takes_request
from contextasm.cli.output import show_problems, write_stderr

if TYPE_CHECKING:
    from contextasm.config.build import Counters, PreparedBuild
    from contextasm.config.options import Options, ProcessEnvironment
    from contextasm.model import Problem
    from contextasm.workspace.outputs import OutputFile
    from contextasm.workspace.watch.rebuild import BuildResult, Rebuild, WatchSpec
    from contextasm.workspace.watch.rescan import Rescan


def watch(
    request: Options,
    *,
    form: Annotated[str | None, typer.Option("--format", "-f", metavar="NAME", help="As for build.")] = None,
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="FILE", help="Keep this file up to date.")
    ] = None,
    into: Annotated[
        list[str] | None, typer.Option(metavar="FILE", help="Keep the managed block of this file so; repeatable.")
    ] = None,
    command: Annotated[
        str | None, typer.Option("--exec", metavar="CMD", help="Run this in a shell after each change of a file.")
    ] = None,
    poll: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Look every so often instead of being told of changes.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Nothing but errors on standard error.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Why each build was made, and time taken.")] = False,
) -> int:
    """Build, and build again whenever something that the build depends on changes, until interrupted.

    The files are written only where their content changes. After an error they stay as they are, and the watch goes on.
    """
    from contextasm.workspace.watch.loop import WatchReporter, watch_workspace

    wish = _wish(request._replace(format=form), _targets(output, into or (), poll))
    with _line(quiet=quiet) as show:
        speech = _Speech(wish.targets, show, quiet=quiet, verbose=verbose)
        hello = f"ctxasm: watching {wish.root}; Ctrl-C ends it"
        ready = (lambda: None) if quiet else (lambda: write_stderr(hello))
        return watch_workspace(wish, WatchReporter(ready, speech.turn, speech.warn), command or "", poll)


run = takes_request(watch)


def _targets(output: str | None, into: Sequence[str], poll: float | None) -> Sequence[OutputFile]:
    """The files to write, at least one."""
    from contextasm.model import ContextasmError
    from contextasm.workspace.outputs import output_files

    if poll is not None and not 0 < poll < 1e6:  # NaN is not, either
        raise ContextasmError("--poll", f"{poll:g} is no number of seconds above 0", "write one such as 2 or 0.5")
    if found := output_files(output, into):
        return found
    raise ContextasmError("ctxasm watch", "there is no file to keep up to date", "name it with -o FILE or --into FILE")


def _wish(flags: Options, targets: Sequence[OutputFile]) -> WatchSpec:
    """What is asked for, with everything that a build needs bound to it."""
    from contextasm.config.profile_loader import profile_files
    from contextasm.config.resolve import process_environment
    from contextasm.workspace.folder import Folder, find_workspace
    from contextasm.workspace.watch.rebuild import WatchSpec

    around = process_environment()
    named = flags.workspace or around.environment.get("CTXASM_WORKSPACE")
    root = around.folder / named if named else find_workspace(around.folder)
    Folder(root)  # raises where it is none
    root = Path(os.path.abspath(root))
    counters: Counters = {}
    profile = flags.profile or around.environment.get("CTXASM_PROFILE") or ""
    return WatchSpec(
        root=root,
        build=lambda disk: _built(flags, around, disk, counters),
        targets=targets,
        others=lambda: profile_files(profile, around.folder),
    )


def _built(flags: Options, around: ProcessEnvironment, disk: Rescan, counters: Counters) -> BuildResult:
    """One build, and what it depends on besides the workspace."""
    from contextasm.config.profile_loader import profile_files
    from contextasm.config.resolve import prepare_build
    from contextasm.rendering.formats import FORMATS
    from contextasm.workspace.watch.rebuild import BuildResult

    job = prepare_build(flags, around, disk, counters)
    context = job.run()
    profile = job.settings["profile"]
    folder = Path(disk.root) if profile.origin.startswith("ctxasm.yaml") else around.folder
    files = profile_files(str(profile.value), folder)
    return BuildResult(context, FORMATS[context.request.format](context), _day(job, around), files)


def _day(job: PreparedBuild, around: ProcessEnvironment) -> Callable[[], date] | None:
    """What tells which day it is; None where the build's day is named."""
    from contextasm.config.resolve import today

    if not job.settings["date"].origin.startswith("the clock"):
        return None
    zone = str(job.settings["tz"].value)
    return lambda: today(zone, around.now())


class _Speech:
    """What a person is told, of which much is the same from turn to turn."""

    def __init__(
        self, targets: Sequence[OutputFile], show: Callable[[str], None], *, quiet: bool, verbose: bool
    ) -> None:
        self._targets = targets
        self._show = show
        self._quiet = quiet
        self._verbose = verbose
        self._known: frozenset[Problem] = frozenset()

    def turn(self, turn: Rebuild) -> None:
        """One line for the build, and one for each problem that the build before had not."""
        if turn.error:
            write_stderr(f"ctxasm: error: {turn.error}")
        if self._quiet or not turn.context:
            return
        show_problems([problem for problem in turn.context.problems if problem not in self._known])
        self._known = frozenset(turn.context.problems)
        self._show(_turn_line(turn, self._targets, verbose=self._verbose))

    def warn(self, message: str) -> None:
        """Tell of what went wrong beside the builds."""
        write_stderr(f"ctxasm: warning: {message}")


def _turn_line(turn: Rebuild, targets: Sequence[OutputFile], *, verbose: bool) -> str:
    """What became of a build that did not fail."""
    assert turn.context
    files = ", ".join(str(path) for path in turn.written or [target.path for target in targets])
    tokens = f"{turn.context.tokens:,} of {turn.context.request.budget:,} tokens"
    line = f"{files}: {'written' if turn.written else 'unchanged'}: {tokens}"
    if not verbose:
        return line
    more = f" and {len(turn.why) - 3} more" if len(turn.why) > 3 else ""
    return f"{line} (for {', '.join(turn.why[:3])}{more}; {turn.seconds * 1000:.0f} ms)"


def _line(*, quiet: bool) -> AbstractContextManager[Callable[[str], None]]:
    """How to show what is the case: on a terminal one line that is kept current, else a line each."""
    if quiet or not sys.stderr or not sys.stderr.isatty():
        return nullcontext(write_stderr)
    return _Live()


class _Live:
    """The last line of a terminal, with the time it was written; what else is told scrolls by above it."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.live import Live

        self._live = Live(console=Console(stderr=True), auto_refresh=False)

    def __enter__(self) -> Callable[[str], None]:
        self._live.start()
        return self._show

    def __exit__(self, *_error: object) -> None:
        self._live.stop()

    def _show(self, line: str) -> None:
        import time

        from rich.text import Text

        text = Text(f"{time.strftime('%H:%M:%S')} {line}", no_wrap=True, overflow="ellipsis")
        self._live.update(text, refresh=True)
