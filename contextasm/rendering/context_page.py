"""The page about one request: its contexts under one or more budgets side by side."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, groupby

from contextasm.model import SHARED, Context, Decision, Problem, Request, Span
from contextasm.rendering import page as html
from contextasm.rendering.wording import problem_line, receipt
from contextasm.text.graphemes import clipped

MAX_FILE_BYTES = 100_000
"""Number of bytes of one file's text on a page."""

MAX_FILES_BYTES = 1_000_000
"""Number of bytes of all files' texts on a page."""

MAX_LINE = 2000
"""Number of characters of one line."""

SHOWN, LOST, NO_FRAGMENT = "shown", "lost", "in no fragment"


LineState = tuple[str, tuple[str, ...]]
"""The outcome of a line: `SHOWN`, `LOST` or another word, which may have more after a comma.

Also the names of the contexts that show it; none for all."""

ListedFile = tuple[str, int, Sequence[str], Sequence[LineState]]
"""A file on a page: its path, the number of its first line, its lines, and their outcomes."""


def file_list(contexts: Sequence[html.NamedContext], texts: html.FragmentTexts) -> tuple[str, Mapping[str, str]]:
    """The HTML of each opened file with its lines, folded, and the anchors of the files on the page, by path.

    Files beyond the room of a page are only counted, and have no anchor.
    """
    by_path: dict[str, list[list[Decision]]] = {path: [[] for _ in contexts] for path in texts.paths}
    for place, (_, context) in enumerate(contexts):
        for decision in context.decisions:
            if decision.path in by_path:
                by_path[decision.path][place].append(decision)
    names = [name for name, _ in contexts]
    all_lines = ((path, *texts.lines(path), decisions) for path, decisions in by_path.items())
    files = ((path, start, lines, _states(start, lines, own, names)) for path, start, lines, own in all_lines)
    return folded_files(files, len(by_path))


def folded_files(files: Iterable[ListedFile], count: int) -> tuple[str, Mapping[str, str]]:
    """The HTML of files with their lines, folded, and the anchors of the files on the page, by path.

    Of `count` files, those beyond the room of a page are only counted, and have no anchor.
    """
    parts: list[str] = []
    anchors: dict[str, str] = {}
    room = MAX_FILES_BYTES
    for number, (path, start, lines, states) in enumerate(files, 1):
        anchor = f"file-{number}"
        part = _file_part(path, anchor, states, _file_body(start, lines, states, min(room, MAX_FILE_BYTES)))
        room -= len(part.encode())
        if room < 0:
            rest = f"{count - number + 1:,} more files are not on this page"
            parts.append(html.element("p", rest, class_="more"))
            break
        parts.append(part)
        anchors[path] = anchor
    return "\n".join(parts), anchors


def _states(
    start: int, lines: Sequence[str], decisions: Sequence[Sequence[Decision]], names: Sequence[str]
) -> Sequence[LineState]:
    """The outcome of each line; a blank line goes with the line above it."""
    first, stop = start, start + len(lines)
    covered = _numbers((decision.lines for own in decisions for decision in own), first, stop)
    shown = [_numbers((span for decision in own for span in decision.kept), first, stop) for own in decisions]
    states: list[LineState] = []
    for number, line in enumerate(lines, start):
        own = tuple(name for name, numbers in zip(names, shown, strict=True) if number in numbers)
        state: LineState = (SHOWN, () if len(own) == len(names) else own)
        if not own:
            state = (LOST if number in covered else NO_FRAGMENT, ())
        states.append(states[-1] if states and not line.strip() else state)
    return states


def _numbers(spans: Iterator[Span], first: int, stop: int) -> set[int]:
    return {number for start, end in spans for number in range(max(start, first), min(end + 1, stop))}


def _file_body(start: int, lines: Sequence[str], states: Sequence[LineState], room: int) -> str:
    """The runs of lines with one fate as HTML, as many lines as `room` bytes hold."""
    runs: list[str] = []
    number = 0
    for state, group in groupby(zip(states, lines, strict=True), key=lambda pair: pair[0]):
        members = [clipped(line, MAX_LINE) for _, line in group]
        room -= len(_run(start + number, [], state).encode()) + 2 * len(str(len(lines)))
        fitting = bisect_right([*accumulate(map(_size, members))], room)
        if fitting:
            runs.append(_run(start + number, members[:fitting], state))
            room -= sum(map(_size, members[:fitting]))
            number += fitting
        if fitting < len(members):
            rest = f"{len(lines) - number:,} more lines are not on this page"
            return "\n".join((*runs, html.element("p", rest, class_="more")))
    return "\n".join(runs)


def _size(line: str) -> int:
    """Bytes of a line in HTML, with its line end."""
    return len(html.lines_of_text(line).encode()) + 1


def _run(number: int, lines: Sequence[str], state: LineState) -> str:
    kind, names = state
    fate = f"{kind} with {', '.join(names)}" if names else kind
    css = {SHOWN: "part" if names else "", LOST: "lost"}.get(kind.split(",")[0], "lost none")
    return run_of_lines(number, lines, fate, css)


def run_of_lines(number: int, lines: Sequence[str], fate: str, css: str) -> str:
    """Lines with one fate as HTML; `number` is that of the first, and `css` the class of the style sheet."""
    last = number + len(lines) - 1
    place = f"{number}" if last == number else f"{number}–{last}"
    label = html.element("span", f"{place} {html.words(fate)}", class_="fate")
    text = chr(10).join(lines) if any(lines) else ""  # what is private is blank, and takes no room
    return f'<div class="run {css}">{label}<pre>{html.lines_of_text(text)}</pre></div>'


def _file_part(path: str, anchor: str, states: Sequence[LineState], body: str) -> str:
    shown = sum(kind.split(",")[0] == SHOWN for kind, _ in states)
    lost = len(states) - shown
    figures = f"{shown:,} line{'s' * (shown != 1)} shown" + (f", {lost:,} not" if lost else "")
    title = f"{html.element('span', html.words(path), class_='place')} <small>{figures}</small>"
    return f'<details><summary>{title}</summary>\n<div id="{anchor}">\n{body}\n</div></details>'


MAX_PROBLEMS = 200
"""Number of problems that a page lists."""


def context_page(contexts: Sequence[Context], style: str) -> str:
    """The page of contexts that differ only in their budget, at least one of them.

    `style` is the style sheet. Equal contexts give equal bytes.
    """
    named = [(f"{context.request.budget:,}", context) for context in contexts]
    texts = html.FragmentTexts(reversed(contexts))
    files, anchors = file_list(named, texts)
    title = f"Context of {owner_words(contexts[0])}"
    parts = (
        f"<header>{html.element('h1', html.words(title))}\n{request_line(contexts[0])}</header>",
        "<main>",
        f"<section>{html.element('h2', 'Tokens')}\n{html.layer_bars(named)}\n{html.layer_table(named)}",
        *(html.element("p", html.words(receipt(context), 2000), class_="receipt") for context in contexts),
        "</section>",
        *problem_section(contexts),
        f"<section>{html.element('h2', 'Fragments')}\n{html.fragment_list(named, texts, anchors)}</section>",
        f"<section>{html.element('h2', 'Files')}\n{files}</section>",
        "</main>",
    )
    return html.page(title, style, parts)


def owner_words(context: Context) -> str:
    """The agent and the team of a context; its profile if the request names neither."""
    request = context.request
    names = (request.agent, f"team {request.team}" if request.team else "")
    return ", ".join(filter(None, names)) or f"profile {context.profile}"


def request_line(context: Context) -> str:
    """The request in one paragraph, with its readers."""
    request = context.request
    asked = (
        f"profile {context.profile}",
        request.date.isoformat(),
        f"tokens by {request.tokenizer}",
        f"topic: {request.topic}" if request.topic else "",
    )
    line = "; ".join(filter(None, (*asked, audience_words(request))))
    return html.element("p", html.words(line, 2000), class_="request")


def audience_words(request: Request) -> str:
    """Who may see a page of a request."""
    if request.audience == SHARED:
        return "shared: private parts are left out"
    return "personal: it may hold private parts, so show it to nobody else"


def problem_section(contexts: Sequence[Context]) -> Iterator[str]:
    """A section with each problem of the contexts once; nothing without problems."""
    problems: dict[Problem, None] = dict.fromkeys(problem for context in contexts for problem in context.problems)
    if not problems:
        return
    listed = [*problems][:MAX_PROBLEMS]
    items = [html.element("li", html.words(problem_line(problem))) for problem in listed]
    if len(problems) > len(listed):
        items.append(html.element("li", f"{len(problems) - len(listed):,} more problems"))
    yield "\n".join((f"<section>{html.element('h2', 'Problems')}", '<ul class="problems">', *items, "</ul></section>"))
