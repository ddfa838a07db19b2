"""The whole job: from a workspace and a request to the context, one step after the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from contextasm.model import (
    AfterRules,
    Context,
    Document,
    IndexedPools,
    Parse,
    Problem,
    Profile,
    Request,
    RetrievalResult,
    Selection,
    SemanticSimilarity,
    Summarizer,
    Workspace,
)
from contextasm.ranking.conflicts import resolve_conflicts
from contextasm.ranking.deduplicate import deduplicate
from contextasm.ranking.filters import apply_filters, restrict
from contextasm.ranking.order import keep_top_k, low_quality_problems, rank
from contextasm.rendering.frame import render_document, section_format
from contextasm.retrieval.retrieve import RunSources, in_order, retrieve
from contextasm.selection.select import Budget, select
from contextasm.selection.tokens import Counter
from contextasm.text.templates import may_name

if TYPE_CHECKING:
    from contextasm.model import RuleEvaluation


def assemble(
    workspace: Workspace,
    profile: Profile,
    request: Request,
    counter: Counter,
    *,
    meaning: SemanticSimilarity | None = None,
    fired: RuleEvaluation | None = None,
    parse: Parse | None = None,
    summarizer: Summarizer | None = None,
    run_all: RunSources = in_order,
    pools: IndexedPools | None = None,
) -> Context:
    """The context for a request, with a decision for every fragment that was found.

    `counter` is the one that `request.tokenizer` names; `meaning` a second opinion for searches, `fired` what the rules
    come to, `summarizer` what the ladder's step of that name asks; `run_all` runs the sources; `pools` lets large pools
    of memories be kept and told of by number. Raises `ContextasmError` where a file of a required layer can't be read.
    """
    kept = None if _choose(fired) else pools
    asked = restrict(profile, request.filters)
    found = retrieve(workspace, asked, request, meaning, parse, run_all=run_all, pools=kept)
    return _assembled(found, request, Change((), workspace, profile, counter, meaning, fired, parse, summarizer))


class Change(NamedTuple):
    """What is no longer as it was when a context was built, and what else a build takes."""

    paths: tuple[str, ...]
    """The files that are new, gone or different, relative to the workspace."""
    workspace: Workspace
    """As it is now."""
    profile: Profile
    counter: Counter
    meaning: SemanticSimilarity | None = None
    fired: RuleEvaluation | None = None
    parse: Parse | None = None
    summarizer: Summarizer | None = None


def update(context: Context, change: Change) -> Context:
    """What `assemble` would give for the context's request now, looking again only where a changed file may matter.

    All that `change` holds besides the paths is what `assemble` would be given.
    """
    request, profile = context.request, change.profile
    again: set[str] = set()
    for layer in profile.layers:
        touched = any(may_name(own, path, request) for own in layer.query.paths for path in change.paths)
        if touched or again & {*layer.query.start_from} or layer.id not in context.found:
            again.add(layer.id)
    known = {layer: found for layer, found in context.found.items() if layer not in again}
    asked = restrict(profile, request.filters)
    found = retrieve(change.workspace, asked, request, change.meaning, change.parse, known=known)
    return _assembled(found, request, change)


def _assembled(found: Mapping[str, RetrievalResult], request: Request, job: Change) -> Context:
    """The context of what was found: filtered, ruled, ranked, merged, settled, selected, rendered."""
    ruled = _ruled(apply_filters(job.profile, found, request.filters), job)
    profile, counter = ruled.profile, job.counter
    ranked = {layer.id: rank(ruled.found[layer.id].fragments, layer) for layer in profile.layers}
    settled = resolve_conflicts(profile, deduplicate(profile, ranked), request.prefer)
    pools = {layer.id: keep_top_k(settled.pools[layer.id], layer) for layer in profile.layers}
    ruled = ruled._replace(problems=(*ruled.problems, *settled.problems, *low_quality_problems(profile, pools)))
    framing = section_format(request.format, profile.marker, counter.count)
    budget = Budget(request.budget)
    while True:
        selection = select(profile, pools, budget, counter, framing, job.summarizer)
        text = render_document(selection.sections, request.format)
        tokens = counter.count(text)
        if tokens <= request.budget or _only_required(selection, profile):
            return _context(text, tokens, ruled, request, selection)._replace(found=found)
        budget = budget._replace(spare=budget.spare + tokens - request.budget)


def _ruled(found: Mapping[str, RetrievalResult], job: Change) -> AfterRules:
    """What the rules leave; their modules are loaded for a workspace that has rules."""
    if not job.fired:
        return AfterRules(job.profile, found, (), ())
    from contextasm.rules.apply import apply_rules

    return apply_rules(job.fired, job.profile, found, job.workspace)


def _choose(fired: RuleEvaluation | None) -> bool:
    """Whether rules may choose among memories: then each has to be there."""
    return fired is not None and any(each.target.kind != "layer" for each in fired.settings)


def _only_required(selection: Selection, profile: Profile) -> bool:
    """Whether nothing is shown that a smaller budget could take away."""
    required = {layer.id for layer in profile.layers if layer.limits.required}
    return all(section.layer in required for section in selection.sections)


def _context(text: str, tokens: int, ruled: AfterRules, request: Request, selection: Selection) -> Context:
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


def _problems(found: Iterable[RetrievalResult]) -> Iterator[Problem]:
    """What went wrong in the sources."""
    return (problem for each in found for problem in each.problems)


def _by_path(documents: Iterable[Document]) -> tuple[Document, ...]:
    """Documents in path order."""
    return tuple(sorted(documents, key=lambda document: document.path))


def _distinct(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Each problem once, in the order found: two layers may read the same file."""
    return tuple(dict.fromkeys(problems))
