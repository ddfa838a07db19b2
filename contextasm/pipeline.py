"""The pipeline: from a build to its context, one step after the other. The steps meet here and nowhere else."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import NamedTuple

from contextasm.model import (
    PERSONAL,
    AfterRules,
    Build,
    Context,
    ContextasmError,
    Document,
    Fragment,
    Layer,
    Problem,
    Profile,
    RetrievalResult,
    Selection,
)
from contextasm.ranking.conflicts import resolve_conflicts
from contextasm.ranking.deduplicate import Copy, deduplicate, unshown_copies, with_twins
from contextasm.ranking.filters import apply_filters, drop_secrets
from contextasm.ranking.order import keep_top_k, low_quality_problems, rank
from contextasm.rendering.frame import render_document, section_format
from contextasm.rendering.placement import place
from contextasm.retrieval.reading.files import with_cleaning
from contextasm.retrieval.retrieve import retrieve, with_fallback_tops, with_layers_for_topic
from contextasm.retrieval.unmatched import unmatched_problems
from contextasm.selection.select import Budget, select
from contextasm.text.cleaning.clean import hidden_problems


def assemble(build: Build) -> Context:
    """The context for the build's request, with a decision for every fragment that was retrieved.

    Raises `ContextasmError` where a file of a required layer can't be read, and where the workspace or the system
    fails.
    """
    try:
        return _assemble(build)
    except OSError as error:
        where = str(error.filename or "workspace")
        raise ContextasmError(where, f"can't be read: {error.strerror or error}", "try again") from error
    except MemoryError as error:
        raise ContextasmError("memory", "there is too little for this build", "leave large files out") from error


def _assemble(build: Build) -> Context:
    profile = with_layers_for_topic(build.profile, build.request.topic)
    build, results = _retrieve_for_audience(build._replace(profile=profile))
    results = apply_filters(build.profile, results, build.request.filters)
    unmatched = (*build.problems, *unmatched_problems(build, results))
    build = build._replace(profile=with_fallback_tops(build.profile, results))
    after_rules = _apply_rules(build, results)
    profile = after_rules.profile
    ranked = {layer.id: rank(_placed(build, layer, after_rules.results), layer) for layer in profile.layers}
    shown = _show_each_once(build, profile, ranked)
    selection, text, tokens = shown.selection, shown.text, shown.tokens
    problems = (*after_rules.problems, *shown.problems)
    context = Context(
        text=text,
        tokens=tokens,
        etag=sha256(text.encode()).hexdigest(),
        profile=profile.name,
        request=build.request,
        sections=selection.sections,
        decisions=selection.decisions,
        allowances=selection.allowances,
        problems=_distinct([*_source_problems(after_rules.results), *unmatched, *problems, *selection.problems]),
        documents=_documents(after_rules.results),
        rule_traces=after_rules.traces,
    )
    return context._replace(problems=(*context.problems, *_coherence_problems(context, profile)))


def _placed(build: Build, layer: Layer, results: Mapping[str, RetrievalResult]) -> Sequence[Fragment]:
    """The fragments of a layer as they are shown, without secrets where the request drops them."""
    masked = build.request.privacy != "off"
    placed = [place(fragment, layer, masked=masked) for fragment in results[layer.id].fragments]
    if build.request.privacy != "drop":
        return placed
    documents = {document.path: document for result in results.values() for document in result.documents}
    return drop_secrets(placed, layer, documents)


def _coherence_problems(context: Context, profile: Profile) -> Iterator[Problem]:
    if not profile.min_coherence:
        return
    from contextasm.rendering.metrics import context_metrics  # here: most profiles set no least coherence

    coherence = context_metrics(context).coherence
    if coherence is not None and coherence < profile.min_coherence:
        message = f"is {coherence:g}, below {profile.min_coherence:g}: the fragments share few words, or contradict"
        yield Problem("low-coherence", "coherence", 0, message)


def _retrieve_for_audience(build: Build) -> tuple[Build, Mapping[str, RetrievalResult]]:
    """The build as its audience may see it, and what it retrieves, with a receipt for each private part left out."""
    if build.request.audience == PERSONAL:
        return build, retrieve(_searched(build))
    from contextasm.retrieval.reading.audience import for_audience, with_receipts  # here: most builds are personal

    build = for_audience(build)
    return build, with_receipts(build, retrieve(_searched(build)))


def _searched(build: Build) -> Build:
    """The build without an index if filters choose among memories: an index knows only the best ones."""
    filters = build.request.filters
    request = build.request
    if filters.since or filters.exclude or request.prefer or request.privacy == "drop":
        return build._replace(memory_index=None)
    return build


def _apply_rules(build: Build, results: Mapping[str, RetrievalResult]) -> AfterRules:
    if not build.rules:
        return AfterRules(build.profile, results, (), ())
    from contextasm.rules.apply import apply_rules  # here: most workspaces have no rules

    return apply_rules(build.rules, build.profile, results, with_cleaning(build).workspace)


class _Shown(NamedTuple):
    selection: Selection
    text: str
    tokens: int
    problems: tuple[Problem, ...]


def _show_each_once(build: Build, profile: Profile, ranked: Mapping[str, Sequence[Fragment]]) -> _Shown:
    """The selection without duplicates. Where a copy that stands for others is not shown, the next one stands in."""
    unshown: set[Copy] = set()
    while True:
        deduplicated = deduplicate(profile, ranked, unshown)
        resolved = resolve_conflicts(profile, deduplicated.candidates, build.request.prefer)
        selection, text, tokens = _select_within_budget(build, profile, resolved.candidates)
        missing = unshown_copies(deduplicated.twins, selection.decisions)
        if not missing - unshown:
            selection = selection._replace(decisions=with_twins(selection.decisions, deduplicated.twins))
            problems = (*resolved.problems, *low_quality_problems(profile, resolved.candidates))
            return _Shown(selection, text, tokens, problems)
        unshown |= missing


def _select_within_budget(
    build: Build, profile: Profile, candidates: Mapping[str, Sequence[Fragment]]
) -> tuple[Selection, str, int]:
    """The selection whose document holds the budget, that document, and its tokens.

    Exact counts of parts may add up to less than the count of the whole: then less is selected, until it fits.
    """
    request, counter = build.request, build.counter
    sections = section_format(request.format, profile.marker, counter.count)
    budget = Budget(request.budget)
    while True:
        selection = select(profile, candidates, budget, counter, sections, keep_top_k, build.summarizer)
        text = render_document(selection.sections, request.format)
        tokens = counter.count(text)
        if tokens <= request.budget or _only_required(selection, profile):
            return selection, text, tokens
        budget = budget._replace(spare=budget.spare + tokens - request.budget)


def _only_required(selection: Selection, profile: Profile) -> bool:
    """Whether nothing is shown that a smaller budget could take away."""
    required = {layer.id for layer in profile.layers if layer.limits.required}
    return all(section.layer in required for section in selection.sections)


def _documents(results: Mapping[str, RetrievalResult]) -> tuple[Document, ...]:
    """The documents that the sources opened, each once, in path order."""
    documents = {document.path: document for result in results.values() for document in result.documents}
    return tuple(documents[path] for path in sorted(documents))


def _source_problems(results: Mapping[str, RetrievalResult]) -> list[Problem]:
    problems: list[Problem] = []
    for result in results.values():
        problems += result.problems
        for document in result.documents:
            problems += hidden_problems(document)
    return problems


def _distinct(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Each problem once, in the order found: two layers may read the same file."""
    return tuple(dict.fromkeys(problems))
