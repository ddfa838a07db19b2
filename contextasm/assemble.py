"""The whole job: from a workspace and a request to the context, one step after the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from typing import TYPE_CHECKING

from contextasm.budget import Budget, select
from contextasm.model import (
    Context,
    Document,
    Found,
    Meaning,
    Pools,
    Problem,
    Profile,
    Request,
    Ruled,
    Selection,
    Workspace,
)
from contextasm.rank import rank
from contextasm.render import document, frame
from contextasm.sources import retrieve
from contextasm.tokens import Counter

if TYPE_CHECKING:
    from contextasm.rules import Fired


def assemble(
    workspace: Workspace,
    profile: Profile,
    request: Request,
    counter: Counter,
    *,
    meaning: Meaning | None = None,
    fired: Fired | None = None,
    pools: Pools | None = None,
) -> Context:
    """The context for a request, with a decision for every fragment that was found.

    `counter` is the one that `request.tokenizer` names; `meaning` a second opinion for searches, `fired`
    what the rules come to, and `pools` lets large pools of memories be kept and told of by number. Raises
    `ContextasmError` where a file of a required layer can't be read.
    """
    found = retrieve(workspace, profile, request, meaning, None if _choose(fired) else pools)
    ruled = _ruled(fired, profile, found, workspace) if fired else Ruled(profile, found, (), ())
    ranked = {layer.id: rank(ruled.found[layer.id].fragments, layer) for layer in ruled.profile.layers}
    framing = frame(request.format, profile.marker, counter.count)
    budget = Budget(request.budget)
    while True:
        selection = select(ruled.profile, ranked, budget, counter, framing)
        text = document(selection.sections, request.format)
        tokens = counter.count(text)
        if tokens <= request.budget or _only_required(selection, profile):
            return _context(text, tokens, ruled, request, selection)
        budget = budget._replace(spare=budget.spare + tokens - request.budget)


def _ruled(fired: Fired, profile: Profile, found: Mapping[str, Found], workspace: Workspace) -> Ruled:
    """What the rules leave; their modules are loaded for a workspace that has rules."""
    from contextasm.rules.apply import apply

    return apply(fired, profile, found, workspace)


def _choose(fired: Fired | None) -> bool:
    """Whether rules may choose among memories: then each has to be there."""
    return fired is not None and any(each.target.kind != "layer" for each in fired.settings)


def _only_required(selection: Selection, profile: Profile) -> bool:
    """Whether nothing is shown that a smaller budget could take away."""
    required = {layer.id for layer in profile.layers if layer.required}
    return all(section.layer in required for section in selection.sections)


def _context(text: str, tokens: int, ruled: Ruled, request: Request, selection: Selection) -> Context:
    """The finished result."""
    found = ruled.found.values()
    documents = {document.path: document for each in found for document in each.documents}
    return Context(
        text=text,
        tokens=tokens,
        etag=sha256(text.encode()).hexdigest(),
        profile=ruled.profile.name,
        request=request,
        sections=selection.sections,
        decisions=selection.decisions,
        allowances=selection.allowances,
        problems=_distinct([*_problems(found), *ruled.problems, *selection.problems]),
        documents=_by_path(documents.values()),
        rulings=ruled.rulings,
    )


def _problems(found: Iterable[Found]) -> Iterator[Problem]:
    """What went wrong in the sources."""
    return (problem for each in found for problem in each.problems)


def _by_path(documents: Iterable[Document]) -> tuple[Document, ...]:
    """Documents in path order."""
    return tuple(sorted(documents, key=lambda document: document.path))


def _distinct(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Each problem once, in the order found: two layers may read the same file."""
    return tuple(dict.fromkeys(problems))
