"""Deadline: run sources in parallel threads, and give up on the ones that are late.

A thread that is late goes on until its process ends; its result is dropped, and the thread does not prevent the
process from ending.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

from contextasm.model import RetrievalResult, RunSources, SourceTask
from contextasm.retrieval.retrieve import SOURCE_SHARE


def run_until_deadline(seconds: float) -> RunSources:
    """Runner of sources that stops waiting when `SOURCE_SHARE` of the seconds from now has passed."""
    end = time.monotonic() + seconds * SOURCE_SHARE

    def run_all(tasks: Sequence[SourceTask]) -> Sequence[RetrievalResult | None]:
        results: dict[int, RetrievalResult | BaseException] = {}
        change = threading.Condition()

        def run(number: int, task: SourceTask) -> None:
            try:
                result: RetrievalResult | BaseException = task()
            except BaseException as error:  # noqa: BLE001 - raised again where it is waited for
                result = error
            with change:
                results[number] = result
                change.notify()

        for number, task in enumerate(tasks):
            threading.Thread(target=run, args=(number, task), daemon=True).start()
        with change:
            change.wait_for(lambda: len(results) == len(tasks), max(0.0, end - time.monotonic()))
            return [_result_or_raise(results.get(number)) for number in range(len(tasks))]

    return run_all


def _result_or_raise(result: RetrievalResult | BaseException | None) -> RetrievalResult | None:
    if isinstance(result, BaseException):
        raise result
    return result
