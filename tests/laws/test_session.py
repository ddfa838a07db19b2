"""A session: commands that write, edits by hand, damage of the state and faults of the disk, in any order.

The model is a dict of texts. No text is ever lost, no file is half-written, and a build shows what the files say.
"""

import os
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tests.command import Result, fill, inside
from tests.faults.failing import Countdown, failing_calls

DAY = ("--date", "2025-03-14")
LOG = "agents/a/daily/2025-03-14.md"
MEMORIES = "agents/a/memories/2025-03.md"
PAGE = "agents/a/KNOWLEDGE.md"
DAMAGES = ("halved", "emptied", "a folder", "gone")


class Session(RuleBasedStateMachine):
    """A workspace, and the texts that it has to hold."""

    def __init__(self) -> None:
        super().__init__()
        settings_file = "layers:\n  - {id: L5, top: 50}\n"  # more memories than the steps can make
        self.root = fill(Path(tempfile.mkdtemp()), {PAGE: "Page number 0.\n", "ctxasm.yaml": settings_file})
        self.texts: dict[str, list[str]] = {LOG: [], MEMORIES: [], "tasks.yaml": []}
        self.page = "Page number 0."
        self.number = 0

    def teardown(self) -> None:
        """Remove the workspace."""
        shutil.rmtree(self.root)

    def _words(self, kind: str) -> str:
        """A text like no other, so that no memory is taken for another one."""
        self.number += 1
        letters = "".join(chr(ord("a") + (self.number * 7 + at * at * 5) % 26) for at in range(12))
        return f"{kind} {letters} {self.number}"

    def _run(self, *words: str) -> Result:
        done = inside(*words, cwd=self.root)
        assert done.code != 70, done.err
        return done

    def _store(self, path: str, text: str, *words: str) -> None:
        done = self._run(*words, text)
        assert done.code == 0, done.err
        self.texts[path].append(text)

    @rule()
    def remember(self) -> None:
        """A memory."""
        self._store(MEMORIES, self._words("Memory"), "remember", "-a", "a", *DAY)

    @rule()
    def log(self) -> None:
        """An entry of the log."""
        self._store(LOG, self._words("Entry"), "log", "-a", "a", *DAY)

    @rule()
    def push_task(self) -> None:
        """A task."""
        self._store("tasks.yaml", self._words("Task"), "task", "push")

    @rule(path=st.sampled_from((LOG, MEMORIES)))
    def edit_by_hand(self, path: str) -> None:
        """A line at the end, with the same time as before."""
        text = self._words("By hand")
        file = self.root / path
        file.parent.mkdir(exist_ok=True)
        old = file.read_text() if file.exists() else ""
        time = file.stat().st_mtime_ns if file.exists() else 0
        file.write_text(f"{old}- {text}\n")
        os.utime(file, ns=(time, time))
        self.texts[path].append(text)

    @rule()
    def replace_page(self) -> None:
        """A page with as many bytes, and with the same time."""
        self.number += 1
        self.page = f"Page number {self.number % 10}."
        (self.root / PAGE).write_text(f"{self.page}\n")
        os.utime(self.root / PAGE, (0, 0))

    @rule()
    def lock_and_record(self) -> None:
        """Commands that leave state."""
        assert self._run("lock").code == 0
        assert self._run("build", *DAY, "--record-inputs", "-q").code == 0
        (self.root / "ctxasm.lock").unlink()

    @rule(damage=st.sampled_from(DAMAGES))
    def damage_state(self, damage: str) -> None:
        """Every file of the state."""
        for path in [path for path in (self.root / ".ctxasm").rglob("*") if path.is_file()]:
            data = path.read_bytes()
            path.unlink()
            if damage == "a folder":
                path.mkdir()
            elif damage != "gone":
                path.write_bytes(data[: len(data) // 2] if damage == "halved" else b"")

    @rule(
        fault=st.sampled_from(("EIO", "ENOSPC", "MemoryError")),
        function=st.sampled_from(("write", "fsync", "replace", "open")),
        at=st.integers(1, 4),
        words=st.sampled_from((("remember", "-a", "a", *DAY), ("log", "-a", "a", *DAY), ("task", "push"))),
    )
    def write_with_fault(self, fault: str, function: str, at: int, words: tuple[str, ...]) -> None:
        """A write that is aborted: the text is stored whole, or not at all."""
        text = self._words("Torn")
        path = {"remember": MEMORIES, "log": LOG, "task": "tasks.yaml"}[words[0]]
        countdown = Countdown(fault, at, forever=False)
        with pytest.MonkeyPatch.context() as patch, failing_calls(patch, function, countdown, self.root):
            done = inside(*words, text, cwd=self.root)
        assert done.code in {0, 2}, done.err
        if (self.root / path).is_file() and text in (self.root / path).read_text():
            self.texts[path].append(text)
        else:
            assert done.code == 2

    @invariant()
    def no_text_is_lost(self) -> None:
        """Every text is in its file, once and in its order, and there is no file that was half-written."""
        for path, texts in self.texts.items():
            held = (self.root / path).read_text() if texts else ""
            places = [held.find(text) for text in texts]
            assert -1 not in places
            assert [held.count(text) for text in texts] == [1] * len(texts)
        assert [path for path in self.root.rglob("*.tmp") if ".ctxasm" not in path.parts] == []

    @rule()
    def build(self) -> None:
        """A build shows what the files say."""
        done = self._run("build", *DAY, "--budget", "16000", "-q")
        assert done.code == 0, done.err
        assert [text for path in (LOG, MEMORIES) for text in self.texts[path] if text not in done.out] == []
        assert self.page in done.out


TestSession = Session.TestCase
TestSession.settings = settings(stateful_step_count=14)
