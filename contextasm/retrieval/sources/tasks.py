"""Sources `root-goal`, `ancestor-goals`, `sibling-results` and `current-goal`: the stack of tasks, part by part."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from contextasm.model import Ask, Found, Fragment
from contextasm.retrieval.reading import values
from contextasm.text.task_stack import Frame, Stack, stack_of, told


def root_goal(ask: Ask) -> Found:
    """What all of it is for; nothing where that is the current task itself."""
    return _part(ask, lambda stack: stack.path()[:-1][:1])


def ancestors(ask: Ask) -> Found:
    """The tasks between the root and the current one, the nearest to it first."""
    return _part(ask, lambda stack: stack.path()[1:-1][::-1])


def siblings(ask: Ask) -> Found:
    """The results of the completed tasks beside the current one, the latest first."""
    return _part(ask, Stack.siblings)


def current_goal(ask: Ask) -> Found:
    """The task that is worked on."""
    return _part(ask, lambda stack: stack.path()[-1:])


def _part(ask: Ask, choose: Callable[[Stack], Sequence[Frame]]) -> Found:
    """Some of the tasks that the layer's files hold, each as a list item."""
    read, problems = values(ask)
    fragments: list[Fragment] = []
    for data in read:
        frames = choose(stack_of(data, problems))
        fragments += (_fragment(frame, data.document.path, ask) for frame in frames)
    documents = tuple(data.document for data in read)
    return Found(tuple(each._replace(place=(-n,)) for n, each in enumerate(fragments)), documents, tuple(problems))


def _fragment(frame: Frame, path: str, ask: Ask) -> Fragment:
    """A task as a list item."""
    text = "- " + told(frame).replace("\n", "\n  ")
    return Fragment(f"task {frame.id}", path, frame.line, text, ask.layer.heading[0], keep=ask.layer.keep, rows=1)
