"""Sources `root-goal`, `ancestor-goals`, `sibling-results` and `current-goal`: the stack of tasks, part by part."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from contextasm.model import Fragment, FragmentDisplay, Location, RetrievalResult, SourceQuery
from contextasm.retrieval.reading import read_data
from contextasm.text.task_stack import Task, TaskStack, parse_task_stack, task_line


def root_goal(query: SourceQuery) -> RetrievalResult:
    """What all of it is for; nothing where that is the current task itself."""
    return _part(query, lambda stack: stack.path()[:-1][:1])


def ancestor_goals(query: SourceQuery) -> RetrievalResult:
    """The tasks between the root and the current one, the nearest to it first."""
    return _part(query, lambda stack: stack.path()[1:-1][::-1])


def sibling_results(query: SourceQuery) -> RetrievalResult:
    """The results of the completed tasks beside the current one, the latest first."""
    return _part(query, TaskStack.siblings)


def current_goals(query: SourceQuery) -> RetrievalResult:
    """The task that is worked on."""
    return _part(query, lambda stack: stack.path()[-1:])


def _part(query: SourceQuery, choose: Callable[[TaskStack], Sequence[Task]]) -> RetrievalResult:
    """Some of the tasks that the layer's files hold, each as a list item."""
    read, problems = read_data(query)
    fragments: list[Fragment] = []
    for data in read:
        frames = choose(parse_task_stack(data, problems))
        fragments += (_fragment(frame, data.document.path, query) for frame in frames)
    documents = tuple(data.document for data in read)
    return RetrievalResult(
        tuple(each._replace(display=each.display._replace(place=(-n,))) for n, each in enumerate(fragments)),
        documents,
        tuple(problems),
    )


def _fragment(frame: Task, path: str, query: SourceQuery) -> Fragment:
    """A task as a list item."""
    text = "- " + task_line(frame).replace("\n", "\n  ")
    return Fragment(
        f"task {frame.id}",
        Location(path, frame.line, rows=1),
        text,
        FragmentDisplay(query.layer.heading[0], keep=query.layer.overflow.keep),
    )
