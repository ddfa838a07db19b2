"""The whole job: from a workspace and a request to the context, one step after the other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import NamedTuple

from contextasm.budget import Budget, select
from contextasm.conflicts import settle
from contextasm.filters import filtered, narrowed
from contextasm.merge import merge
from contextasm.model import (
    Context,
    Document,
    Found,
    Meaning,
    Problem,
    Profile,
    Request,
    Selection,
    Summarizer,
    Workspace,
)
from contextasm.rank import nothing_good_enough, rank, topmost
from contextasm.render import document, frame
from contextasm.sources import RunAll, one_by_one, retrieve
from contextasm.text.templates import may_name
from contextasm.tokens import Counter


def assemble(
    workspace: Workspace,
    profile: Profile,
    request: Request,
    counter: Counter,
    *,
    meaning: Meaning | None = None,
    summarizer: Summarizer | None = None,
    run_all: RunAll = one_by_one,
) -> Context:
    """The context for a request, with a decision for every fragment that was found.

    `counter` is the one that `request.tokenizer` names; `meaning` a second opinion for searches; `summarizer` what
    the ladder's step of that name asks; `run_all` runs the sources. Raises `ContextasmError` where a file of a
    required layer can't be read.
    """
    found = retrieve(workspace, narrowed(profile, request.filters), request, meaning, run_all=run_all)
    return _assembled(found, profile, request, counter, summarizer)


class Change(NamedTuple):
    """What is no longer as it was when a context was built, and what else a build takes."""

    paths: tuple[str, ...]
    """The files that are new, gone or different, relative to the workspace."""
    workspace: Workspace
    """As it is now."""
    profile: Profile
    counter: Counter
    meaning: Meaning | None = None
    summarizer: Summarizer | None = None


def update(context: Context, change: Change) -> Context:
    """What `assemble` would give for the context's request now, looking again only where a changed file may matter.

    Profile, counter and helpers are those that the context was built with.
    """
    request, profile = context.request, change.profile
    again: set[str] = set()
    for layer in profile.layers:
        touched = any(may_name(own, path, request) for own in layer.path for path in change.paths)
        if touched or again & {*layer.start} or layer.id not in context.found:
            again.add(layer.id)
    known = {layer: found for layer, found in context.found.items() if layer not in again}
    asked = narrowed(profile, request.filters)
    found = retrieve(change.workspace, asked, request, change.meaning, known=known)
    return _assembled(found, profile, request, change.counter, change.summarizer)


def _assembled(
    found: Mapping[str, Found], profile: Profile, request: Request, counter: Counter, summarizer: Summarizer | None
) -> Context:
    """The context of what was found."""
    wanted = filtered(profile, found, request.filters)
    ranked = {layer.id: rank(wanted[layer.id], layer) for layer in profile.layers}
    merged = merge(profile, ranked)
    settled = settle(profile, merged, request.prefer)
    pools = {layer.id: topmost(settled.pools[layer.id], layer) for layer in profile.layers}
    problems = (*settled.problems, *nothing_good_enough(profile, pools))
    framing = frame(request.format, profile.marker, counter.count)
    budget = Budget(request.budget)
    while True:
        selection = select(profile, pools, budget, counter, framing, summarizer)
        text = document(selection.sections, request.format)
        tokens = counter.count(text)
        if tokens <= request.budget or _only_required(selection, profile):
            selection = selection._replace(problems=(*problems, *selection.problems))
            return _context(text, tokens, profile, request, found, selection)
        budget = budget._replace(spare=budget.spare + tokens - request.budget)


def _only_required(selection: Selection, profile: Profile) -> bool:
    """Whether nothing is shown that a smaller budget could take away."""
    required = {layer.id for layer in profile.layers if layer.required}
    return all(section.layer in required for section in selection.sections)


def _context(
    text: str, tokens: int, profile: Profile, request: Request, found: Mapping[str, Found], selection: Selection
) -> Context:
    """The finished result."""
    documents = {document.path: document for each in found.values() for document in each.documents}
    return Context(
        text=text,
        tokens=tokens,
        etag=sha256(text.encode()).hexdigest(),
        profile=profile.name,
        request=request,
        sections=selection.sections,
        decisions=selection.decisions,
        allowances=selection.allowances,
        problems=_distinct([*(problem for each in found.values() for problem in each.problems), *selection.problems]),
        documents=_by_path(documents.values()),
        found=found,
    )


def _by_path(documents: Iterable[Document]) -> tuple[Document, ...]:
    """Documents in path order."""
    return tuple(sorted(documents, key=lambda document: document.path))


def _distinct(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Each problem once, in the order found: two layers may read the same file."""
    return tuple(dict.fromkeys(problems))
