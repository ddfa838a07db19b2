"""The page about one request: its contexts under one or more budgets side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from contextasm.model import SHARED, Context, Problem
from contextasm.rendering.fragment_texts import FragmentTexts
from contextasm.rendering.page import element, page, words
from contextasm.rendering.page_files import file_list
from contextasm.rendering.page_fragments import fragment_list
from contextasm.rendering.page_layers import NamedContext, layer_bars, layer_table
from contextasm.rendering.receipt import receipt
from contextasm.rendering.wording import problem_line

MAX_PROBLEMS = 200
"""Number of problems that a page lists."""


def context_page(contexts: Sequence[Context], style: str) -> str:
    """The page of contexts that differ in their budget alone, at least one of them.

    `style` is the style sheet. Equal contexts give equal bytes.
    """
    named = [NamedContext(f"{context.request.budget:,}", context) for context in contexts]
    texts = FragmentTexts(reversed(contexts))
    files = file_list(named, texts)
    title = f"Context of {owner_words(contexts[0])}"
    parts = (
        f"<header>{element('h1', words(title))}\n{request_line(contexts[0])}</header>",
        "<main>",
        f"<section>{element('h2', 'Tokens')}\n{layer_bars(named)}\n{layer_table(named)}",
        *(element("p", words(receipt(context), 2000), class_="receipt") for context in contexts),
        "</section>",
        *problem_section(contexts),
        f"<section>{element('h2', 'Fragments')}\n{fragment_list(named, texts, files.anchors)}</section>",
        f"<section>{element('h2', 'Files')}\n{files.html}</section>",
        "</main>",
    )
    return page(title, style, parts)


def owner_words(context: Context) -> str:
    """The agent and the team of a context; its profile where the request names neither."""
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
    readers = (
        "shared: private parts are left out"
        if request.audience == SHARED
        else "personal: it may hold private parts, so show it to nobody else"
    )
    return element("p", words("; ".join(filter(None, (*asked, readers))), 2000), class_="request")


def problem_section(contexts: Sequence[Context]) -> Iterator[str]:
    """A section with each problem of the contexts once; none where there is none."""
    problems: dict[Problem, None] = dict.fromkeys(problem for context in contexts for problem in context.problems)
    if not problems:
        return
    listed = [*problems][:MAX_PROBLEMS]
    items = [element("li", words(problem_line(problem))) for problem in listed]
    if len(problems) > len(listed):
        items.append(element("li", f"{len(problems) - len(listed):,} more problems"))
    yield "\n".join((f"<section>{element('h2', 'Problems')}", '<ul class="problems">', *items, "</ul></section>"))
