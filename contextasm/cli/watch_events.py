"""Events of a watch as JSON, one object a line, for programs that follow it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from contextasm.cli.output import format_json, write_stdout

if TYPE_CHECKING:
    from contextasm.workspace.watch.loop import WatchReporter
    from contextasm.workspace.watch.rebuild import Rebuild


class WatchEvents:
    """Writes each event of a watch to standard output as soon as it happens."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def reporter(self) -> WatchReporter:
        """The functions that a watch calls."""
        from contextasm.workspace.watch.loop import WatchReporter

        return WatchReporter(self.ready, self.report, self.warn)

    def ready(self) -> None:
        """The first build is done, and changes are seen from now on."""
        _write_event("watching", workspace=str(self._root))

    def report(self, rebuild: Rebuild) -> None:
        """A build was made or failed; its problems and errors belong to it."""
        context = rebuild.context
        figures = {
            "tokens": context.tokens if context else None,
            "budget": context.request.budget if context else None,
            "etag": context.etag if context else None,
        }
        _write_event(
            "build",
            why=list(rebuild.why),
            written=[*map(str, rebuild.files.written)],
            unchanged=[*map(str, rebuild.files.unchanged)],
            **figures,
            errors=list(rebuild.errors),
            problems=[
                {"code": problem.code, "path": problem.path, "line": problem.line, "message": problem.advice}
                for problem in (context.problems if context else ())
            ],
        )

    def warn(self, message: str) -> None:
        """A warning that belongs to no build."""
        _write_event("warning", message=message)


def _write_event(kind: str, **values: object) -> None:
    write_stdout(format_json({"schema": "ctxasm.watch/1", "event": kind, **values}, indent=None))
