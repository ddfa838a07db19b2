"""Waiting: sources run side by side, and what is not done by the deadline is left behind.

A thread that is late goes on until its process ends; nobody reads what it finds, and it keeps no process alive.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

from contextasm.model import RetrievalResult, RunSources, SourceTask
from contextasm.retrieval.retrieve import SOURCE_SHARE


def run_until_deadline(seconds: float) -> RunSources:
    """Runs sources until the share that is theirs of so many seconds from now has passed."""
    end = time.monotonic() + seconds * SOURCE_SHARE

    def run_all(tasks: Sequence[SourceTask]) -> Sequence[RetrievalResult | None]:
        done: dict[int, RetrievalResult | BaseException] = {}
        change = threading.Condition()

        def run(number: int, task: SourceTask) -> None:
            try:
                result: RetrievalResult | BaseException = task()
            except BaseException as error:  # noqa: BLE001 - raised again where it is waited for
                result = error
            with change:
                done[number] = result
                change.notify()

        for number, task in enumerate(tasks):
            threading.Thread(target=run, args=(number, task), daemon=True).start()
        with change:
            change.wait_for(lambda: len(done) == len(tasks), max(0.0, end - time.monotonic()))
            return [_result(done.get(number)) for number in range(len(tasks))]

    return run_all


def _result(done: RetrievalResult | BaseException | None) -> RetrievalResult | None:
    """What a task came to; raises what it raised."""
    if isinstance(done, BaseException):
        raise done
    return done
