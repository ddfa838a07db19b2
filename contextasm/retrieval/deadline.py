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
        results: dict[int, RetrievalResult] = {}
        errors: dict[int, BaseException] = {}

        def run(number: int, task: SourceTask) -> None:
            try:
                results[number] = task()
            except BaseException as error:  # noqa: BLE001 - raised again where it is waited for
                errors[number] = error

        threads = [threading.Thread(target=run, args=numbered, daemon=True) for numbered in enumerate(tasks)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(max(0.0, end - time.monotonic()))
        if errors:
            raise errors[min(errors)]
        return [results.get(number) for number in range(len(tasks))]

    return run_all
