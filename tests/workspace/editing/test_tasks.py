"""The file of the task stack: changed under the lock, and nothing in it is lost that is not changed."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextasm.config.input.yaml_loader import load_yaml
from contextasm.model import Data, Document
from contextasm.text.cleaning.clean import decode_document, parse_data
from contextasm.text.data.task_stack import TaskStack, block, park, parse_task_stack, pop, push, resume
from contextasm.workspace.editing.tasks import change_task_stack
from contextasm.workspace.folder import Folder
from tests.command import fill, start

FILE = "tasks.yaml"


def stack_of(file: Path) -> TaskStack:
    """The stack in a file, its tasks without their lines."""
    document = decode_document(FILE, file.read_bytes())
    assert isinstance(document, Document)
    data = parse_data(document, load_yaml)
    assert isinstance(data, Data)
    stack = parse_task_stack(data, [])
    return TaskStack(tuple(task._replace(line=1) for task in stack.frames), stack.current)


def test_tasks_that_many_push_at_once_are_all_there(tmp_path: Path) -> None:
    folder = fill(tmp_path, {})
    running = [start("task", "push", f"goal {number}", "-q", "-w", folder) for number in range(12)]
    assert [process.wait(60) for process in running] == [0] * 12
    stack = stack_of(folder / FILE)
    assert {task.goal for task in stack.frames} == {f"goal {number}" for number in range(12)}
    assert len(stack.path()) == 12


def test_a_push_waits_for_the_lock(tmp_path: Path) -> None:
    from contextasm.workspace.editing.files import locked

    folder = fill(tmp_path, {})
    with locked(Folder(folder)):
        process = start("task", "push", "b", "-q", "-w", folder)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.7)
        assert not (folder / FILE).exists()
    assert process.wait(60) == 0


GOALS = st.text("ab:#'\\\"-{}[], é\U0001f600\u2028", min_size=1, max_size=8).map(lambda text: f"g {text}".strip())
ACTIONS = st.lists(
    st.tuples(st.sampled_from(["push", "pop", "block", "park", "resume"]), GOALS, st.integers(0, 9)), max_size=8
)
CHANGES = {"push": push, "pop": pop, "block": block, "park": park}


@given(ACTIONS, st.sampled_from(["\n", "\r\n"]))
def test_law_changes_of_the_file_are_the_changes_of_the_stack(
    tmp_path_factory: pytest.TempPathFactory, actions: list[tuple[str, str, int]], end: str
) -> None:
    folder = tmp_path_factory.mktemp("w")
    one = ["- id: t1 # one", "  goal: x", "  owner: hana # two"]
    lines = ["# top", "notes: {a: 1} # side", "tasks:", *one, "  # below", "", "# end", ""]
    (folder / FILE).write_bytes(end.join(lines).encode())
    stack = stack_of(folder / FILE)
    for name, text, number in actions:
        argument = " ".join(text.split())
        if name == "resume":
            unfinished = [task.id for task in stack.frames if task.status != "complete"]
            if not unfinished:
                continue
            stack = resume(stack, task_id := unfinished[number % len(unfinished)])
            change_task_stack(Folder(folder), load_yaml, lambda old, task_id=task_id: resume(old, task_id))  # type: ignore[misc]
        elif name == "push" or stack.path():
            change = CHANGES[name]
            stack = change(stack, argument)
            change_task_stack(Folder(folder), load_yaml, lambda old, a=argument, c=change: c(old, a))  # type: ignore[misc]
    assert stack_of(folder / FILE) == stack
    written = (folder / FILE).read_bytes().decode()
    parts = ["# top" + end, "notes: {a: 1} # side" + end, "owner: hana", "# below" + end, end + end + "# end" + end]
    places = [written.find(part) for part in parts]
    assert places == sorted(places)
    assert places[0] == 0
    assert written.count("\n") == written.count(end)
