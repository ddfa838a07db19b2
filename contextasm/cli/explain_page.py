"""The page of `ctxasm explain --html`: of a build under one or more budgets, or of a record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from contextasm.cli.commands.replay import replay_record, show_differences
from contextasm.cli.options import prepare_context, run_build
from contextasm.cli.output import show_problems, show_taken
from contextasm.cli.page_file import PageFile, load_style, refuse_personal
from contextasm.config.options import Options
from contextasm.config.values import parse_budgets
from contextasm.model import Context, ContextasmError
from contextasm.rendering.context_page import context_page

if TYPE_CHECKING:
    from contextasm.cli.commands.replay import OpenedRecord

MAX_BUDGETS = 6
"""Number of budgets that a page shows side by side."""


def write_build_page(options: Options, path: str, budgets: str | None, *, locked: bool) -> None:
    """Write the page of a build under the budgets as typed, in ascending order; for None, under that of the request."""
    file = PageFile.named(path)
    sizes = _page_budgets(budgets)
    job = prepare_context(options, [file.target], locked=locked)
    file.refuse_inputs([job])
    show_taken(job.taken)
    requests = [job.build.request._replace(budget=size) for size in sizes or (job.build.request.budget,)]
    _write(file, [run_build(job, job.in_full._replace(request=request)) for request in requests])


def write_record_page(opened: OpenedRecord, options: Options, path: str) -> int:
    """Write the page of a record, which is built again; returns the exit code, 1 where it gives other bytes.

    Raises `ContextasmError` for a personal record, and for a file that a build could read.
    """
    file = PageFile.named(path)
    refuse_personal([opened], options)
    file.refuse_inputs([], [opened])
    result = replay_record(opened)
    if not result.context or not result.same:
        return show_differences(opened, result)
    _write(file, [result.context])
    return 0


def _write(file: PageFile, contexts: Sequence[Context]) -> None:
    show_problems([problem for problem in contexts[-1].problems if problem in contexts[0].problems])
    file.write(context_page(contexts, load_style()))


def _page_budgets(budgets: str | None) -> Sequence[int]:
    """The budgets in ascending order, each once; empty for that of the request."""
    sizes = sorted({*parse_budgets(budgets, "--budgets")}) if budgets is not None else []
    if len(sizes) > MAX_BUDGETS:
        raise ContextasmError("--budgets", f"{len(sizes)} budgets do not fit a page", f"name {MAX_BUDGETS} at most")
    return sizes
