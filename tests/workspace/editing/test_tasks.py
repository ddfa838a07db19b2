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
from tests.command import fill, inside, refused, start

FILE = "tasks.yaml"


def stack_of(file: Path) -> TaskStack:
    """The stack in a file, its tasks without their lines."""
    document = decode_document(FILE, file.read_bytes())
    assert isinstance(document, Document)
    data = parse_data(document, load_yaml)
    assert isinstance(data, Data)
    stack = parse_task_stack(data, [])
    return TaskStack(tuple(task._replace(line=1) for task in stack.frames), stack.current)


def after(folder: Path, text: str, *words: str) -> str:
    """The text of the file after one command."""
    fill(folder, {FILE: text.encode()})
    done = inside("task", *words, "-q", "-w", folder)
    assert (done.code, done.err) == (0, "")
    return (folder / FILE).read_bytes().decode()


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


@pytest.mark.parametrize(
    ("old", "words", "new"),
    [
        (
            "# mine\nnotes: keep # n\ntasks: [{id: t1, goal: x, owner: hana}]\n# end",
            ("push", "a, b"),
            (
                "# mine\ncurrent: t2\nnotes: keep # n\n"
                "tasks: [{id: t1, goal: x, owner: hana}, {id: t2, goal: 'a, b', status: active}]\n# end"
            ),
        ),
        (
            (
                "current: t1 # now\r\ntasks:\r\n  - id: t1\r\n    goal: x # why\r\n    due: 1\r\n    # of t1\r\n"
                "\r\n# end\r\n"
            ),
            ("push", "b"),
            (
                "current: t2 # now\r\ntasks:\r\n  - id: t1\r\n    goal: x # why\r\n    due: 1\r\n    # of t1\r\n"
                "  - id: t2\r\n    goal: b\r\n    parent: t1\r\n    status: active\r\n\r\n# end\r\n"
            ),
        ),
        (
            "tasks:\n- goal: |\n    x\n    y\n\n  id: t1\n  owner: hana\ncurrent: t1\n",
            ("pop", "all: done"),
            "tasks:\n- goal: |\n    x\n    y\n\n  status: complete\n  result: 'all: done'\n  id: t1\n  owner: hana\n",
        ),
        (
            "current: t1\ntasks:\n- id: t1\n  goal: x\n  reason: old # see 4\n  status: blocked\n",
            ("block", ""),
            "current: t1\ntasks:\n- id: t1\n  goal: x\n  reason: '' # see 4\n  status: active\n",
        ),
        (
            "- id: t1\n  goal: x",
            ("push", "b"),
            "current: t2\ntasks:\n- id: t1\n  goal: x\n- id: t2\n  goal: b\n  status: active\n",
        ),
        ("# none yet\n", ("push", "b"), "# none yet\ncurrent: t1\ntasks:\n- id: t1\n  goal: b\n  status: active\n"),
        ("tasks: [] # none\n", ("push", "b"), "current: t1\ntasks: # none\n- id: t1\n  goal: b\n  status: active\n"),
        ("tasks:\n# c\n", ("push", "b"), "current: t1\ntasks:\n- id: t1\n  goal: b\n  status: active\n# c\n"),
        (
            '{"tasks": [{"id": "t1", "goal": "x"}], "v": 1}',
            ("push", "b"),
            '{current: t2, "tasks": [{"id": "t1", "goal": "x"}, {id: t2, goal: b, status: active}], "v": 1}',
        ),
    ],
    ids=["flow", "comments", "block-scalar", "unblock", "list", "comment", "empty", "null", "json"],
)
def test_a_change_of_tasks_leaves_every_other_byte(tmp_path: Path, old: str, words: tuple[str, ...], new: str) -> None:
    assert after(tmp_path, old, *words) == new


@pytest.mark.parametrize(
    "text", ["owner: hana\n", "{owner: hana}\n", "tasks: {a: 1}\n", "plain text\n", "tasks: []\n...\n---\na: 1\n"]
)
def test_a_file_that_would_lose_content_is_refused(tmp_path: Path, text: str) -> None:
    fill(tmp_path, {FILE: text})
    refused(inside("task", "push", "x", "-w", tmp_path), FILE)
    assert (tmp_path / FILE).read_text() == text


GOALS = st.text("ab:#'\\\"-{}[], é\U0001f600\u2028", min_size=1, max_size=8).map(lambda text: f"g {text}".strip())
ACTIONS = st.lists(
    st.tuples(st.sampled_from(["push", "pop", "block", "park", "resume"]), GOALS, st.integers(0, 9)), max_size=8
)
CHANGES = {"push": push, "pop": pop, "block": block, "park": park}


@given(ACTIONS, st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_law_changes_of_the_file_are_the_changes_of_the_stack(
    tmp_path_factory: pytest.TempPathFactory, actions: list[tuple[str, str, int]], end: str, flow: bool
) -> None:
    folder = tmp_path_factory.mktemp("w")
    one = ["- {id: t1, goal: x, owner: hana} # one"] if flow else ["- id: t1 # one", "  goal: x", "  owner: hana # two"]
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


def test_work_goes_on_beside_a_task_that_is_blocked(tmp_path: Path) -> None:
    fill(tmp_path, {})
    for words in (("push", "Ship"), ("push", "Get access"), ("park", "waits for Bo"), ("push", "Write notes")):
        assert inside("task", *words, "-q", "-w", tmp_path).code == 0
    shown = inside("task", "-w", tmp_path).out
    assert shown == "- Ship\n  ! Get access (blocked: waits for Bo) [t2]\n  > Write notes\n"
    out = inside("build", "-q", "-p", "query", "-w", tmp_path).out
    assert "- Get access (blocked: waits for Bo)" in out
    assert "## Current Task\n- Write notes" in out
    inside("task", "pop", "Written", "-q", "-w", tmp_path)
    inside("task", "resume", "t2", "-q", "-w", tmp_path)
    assert inside("task", "-w", tmp_path).out == "- Ship\n  > Get access\n  x Written\n"


def test_a_root_is_parked_too(tmp_path: Path) -> None:
    fill(tmp_path, {})
    for words in (("push", "One"), ("park",), ("push", "Two")):
        assert inside("task", *words, "-q", "-w", tmp_path).code == 0
    assert inside("task", "-w", tmp_path).out == "- One [t1]\n> Two\n"
    refused(inside("task", "resume", "t9", "-w", tmp_path), "t9 is no task", "t1, t2")
    inside("task", "pop", "Done", "-q", "-w", tmp_path)
    refused(inside("task", "resume", "t2", "-w", tmp_path), "t2 is complete", "task: t1")


def test_a_blocked_sibling_that_is_written_by_hand_is_shown(tmp_path: Path) -> None:
    rows = "- {id: a, goal: A}\n- {id: b, goal: B, parent: a}\n- {id: c, goal: C, parent: a, status: blocked}\n"
    fill(tmp_path, {FILE: f"current: b\ntasks:\n{rows}"})
    assert "  ! C (blocked: no reason given) [c]\n" in inside("task", "-w", tmp_path).out
    assert "- C (blocked: no reason given)" in inside("build", "-q", "-p", "query", "-w", tmp_path).out


def test_a_circle_of_parents_is_a_problem(tmp_path: Path) -> None:
    """P14: it was drawn as a tree."""
    rows = "- {id: a, goal: A, parent: b}\n- {id: b, goal: B, parent: a}\n- {id: c, goal: C, parent: b}\n"
    fill(tmp_path, {FILE: f"current: c\ntasks:\n{rows}"})
    what = "tasks.yaml:3: the parents of task a form a circle: a -> b -> a"
    assert what in inside("task", "-w", tmp_path).err
    assert what in inside("build", "-p", "query", "-w", tmp_path).err
    assert inside("build", "--strict", "-p", "query", "-w", tmp_path).code == 1
    refused(inside("task", "push", "x", "-w", tmp_path), what)
    own = "current: a\ntasks:\n- {id: a, goal: A, parent: a}\n"
    fill(tmp_path, {FILE: own})
    assert "form a circle: a -> a" in inside("task", "-w", tmp_path).err
