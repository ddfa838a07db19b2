"""The whole job: from a workspace and a request to the context, one step after the other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import sha256

from contextasm.budget import Budget, select
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
from contextasm.rank import rank
from contextasm.render import document, frame
from contextasm.sources import retrieve
from contextasm.tokens import Counter


def assemble(
    workspace: Workspace,
    profile: Profile,
    request: Request,
    counter: Counter,
    *,
    meaning: Meaning | None = None,
    summarizer: Summarizer | None = None,
) -> Context:
    """The context for a request, with a decision for every fragment that was found.

    `counter` is the one that `request.tokenizer` names; `meaning` a second opinion for searches; `summarizer` what
    the ladder's step of that name asks. Raises `ContextasmError` where a file of a required layer can't be read.
    """
    found = retrieve(workspace, profile, request, meaning)
    pools = {layer.id: rank(found[layer.id].fragments, layer) for layer in profile.layers}
    framing = frame(request.format, profile.marker, counter.count)
    budget = Budget(request.budget)
    while True:
        selection = select(profile, pools, budget, counter, framing, summarizer)
        text = document(selection.sections, request.format)
        tokens = counter.count(text)
        if tokens <= request.budget or _only_required(selection, profile):
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
    )


def _by_path(documents: Iterable[Document]) -> tuple[Document, ...]:
    """Documents in path order."""
    return tuple(sorted(documents, key=lambda document: document.path))


def _distinct(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Each problem once, in the order found: two layers may read the same file."""
    return tuple(dict.fromkeys(problems))
