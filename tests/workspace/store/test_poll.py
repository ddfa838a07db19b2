"""Polling for a watch: how often the store is asked, and what the watch is told."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from contextasm.model import Problem
from contextasm.workspace.store import overlay as polling
from contextasm.workspace.store.connection import StoreConfig
from contextasm.workspace.store.overlay import StoreOverlay
from tests.postgres import TEAM, Database

AWAY = [Problem("store-unreachable", "ctxasm.yaml", 1, "can't be reached")]

Answer = tuple[Sequence[str], Sequence[Problem]] | Exception
"""Changed pages and problems, or what a question ends with."""


class Scripted(StoreOverlay):
    """A store whose answers are given; after the last one the watch ends."""

    def __init__(self, root: Path, answers: Sequence[Answer]) -> None:
        config = StoreConfig(1, {"dbname": "x"}, ("teams/q1",))
        super().__init__(str(root), config, lambda: 0.0, "", offline=False)
        self.answers: Iterator[Any] = iter(answers)
        self.ended = threading.Event()

    def renew(self) -> tuple[Sequence[str], Sequence[Problem]]:
        """The next answer."""
        answer: Answer | None = next(self.answers, None)
        if answer is None:
            self.ended.set()
            return (), ()
        if isinstance(answer, Exception):
            raise answer
        return answer


def watched(monkeypatch: pytest.MonkeyPatch, root: Path, *answers: Answer) -> tuple[list[str], list[float]]:
    """What a watch is told, in its order, and the seconds that lie before each question."""
    told: list[str] = []
    waits: list[float] = []
    wait = threading.Event.wait

    def brief(event: threading.Event, timeout: float | None = None) -> bool:
        if threading.current_thread().name == "ctxasm-store":
            waits.append(timeout or 0.0)
            return event.is_set()
        return wait(event, timeout)

    monkeypatch.setattr(threading.Event, "wait", brief)
    overlay = Scripted(root, answers)
    with polling.poll_store(overlay, lambda: told.append("nudge"), told.append):
        assert wait(overlay.ended, 20)
    return told, waits


def test_a_watch_asks_every_second(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    told, waits = watched(monkeypatch, tmp_path, ((), ()), (["page"], ()), ((), ()))
    assert told == ["nudge"]
    assert set(waits) == {polling.INTERVAL}
    assert polling.INTERVAL <= 1.0


def test_a_server_that_is_away_is_told_once_and_once_more_when_it_is_back(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    told, _ = watched(monkeypatch, tmp_path, ((), AWAY), ((), AWAY), ((), AWAY), (["page"], ()), ((), ()))
    assert [told[0], told[2]] == ["can't be reached", "nudge"]
    assert (told[1].endswith("the store answers again"), len(told)) == (True, 3)


def test_what_is_no_fault_of_the_server_is_left_to_the_build(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    beside = [Problem("store-files", "teams/q1/memories", 0, "1 file is not read")]
    assert watched(monkeypatch, tmp_path, ((), beside), (["page"], beside))[0] == ["nudge"]


@pytest.mark.parametrize("error", [KeyError("a page"), PermissionError(13, "Permission denied"), RuntimeError("a\nb")])
def test_a_question_that_fails_in_any_way_is_told_once_in_a_line_and_the_next_is_asked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, error: Exception
) -> None:
    told, _ = watched(monkeypatch, tmp_path, error, error, (["page"], ()), ((), ()))
    assert [told[0].startswith("the store can't be reached: "), "\n" in told[0]] == [True, False]
    assert [told[1].endswith("the store answers again"), *told[2:]] == [True, "nudge"]


def told_at(
    monkeypatch: pytest.MonkeyPatch, overlay: StoreOverlay, events: Mapping[int, Callable[[], object]], last: int
) -> list[int | str]:
    """The numbers of the waits before the questions that told of a change, and what else a watch is told.

    No wait takes time: before the question of a number its event happens, and the last wait ends the watch.
    """
    questions, ended = 0, threading.Event()
    told: list[int | str] = []
    wait = threading.Event.wait

    def without_time(event: threading.Event, timeout: float | None = None) -> bool:
        nonlocal questions
        if threading.current_thread().name != "ctxasm-store":
            return wait(event, timeout)
        questions += 1
        events.get(questions, lambda: None)()
        if questions == last:
            ended.set()
        return questions >= last

    monkeypatch.setattr(threading.Event, "wait", without_time)
    with polling.poll_store(overlay, lambda: told.append(questions), told.append):
        assert wait(ended, 20)
    return told


@pytest.mark.postgres
def test_a_commit_of_another_role_is_told_by_the_next_question(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = database.server.connect(database.name, "kenji")
    slow.cursor().execute(f"INSERT INTO ctxasm.memory (owner, id, text) VALUES ('{TEAM}', 'slow', 'slow')")
    events = {3: slow.commit, 5: lambda: database.add("quick", role="kenji"), 7: slow.close}
    assert told_at(monkeypatch, database.overlay(tmp_path), events, last=8) == [3, 5]


@pytest.mark.postgres
def test_what_another_process_of_the_workspace_pulled_is_told_too(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watching, other = database.overlay(tmp_path), database.overlay(tmp_path)

    def store() -> None:
        database.add("stored here")
        other.pull()

    def store_elsewhere() -> None:
        database.run("CREATE TABLE public.elsewhere ()")

    assert told_at(monkeypatch, watching, {3: store, 5: store_elsewhere}, last=7) == [3]
