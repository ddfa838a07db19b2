"""The pipeline: from a build to its context, one step after the other. The steps meet here and nowhere else."""

from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256

from contextasm.model import (
    PERSONAL,
    Build,
    Context,
    ContextasmError,
    Fragment,
    Problem,
    Profile,
    RetrievalResult,
    RuleTrace,
    Selection,
)
from contextasm.ranking.deduplicate import Copy, deduplicate, resolve_conflicts, unshown_copies, with_twins
from contextasm.ranking.order import apply_filters, drop_secrets, low_quality_problems, rank
from contextasm.rendering.frame import render_document, section_format
from contextasm.rendering.placement import place
from contextasm.retrieval.reading.files import with_cleaning
from contextasm.retrieval.retrieve import retrieve, with_fallback_tops, with_layers_for_topic
from contextasm.retrieval.unmatched import unmatched_problems
from contextasm.selection.select import select
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
    profile = with_fallback_tops(profile, results)
    results = apply_filters(profile, results, build.request.filters)
    unmatched = (*build.problems, *unmatched_problems(build, results))
    traces: tuple[RuleTrace, ...] = ()
    rule_problems: tuple[Problem, ...] = ()
    if build.rules:
        from contextasm.rules.apply import apply_rules  # here: most workspaces have no rules

        workspace = with_cleaning(build).workspace
        profile, results, traces, rule_problems = apply_rules(build.rules, profile, results, workspace)
    documents = {document.path: document for result in results.values() for document in result.documents}
    is_masked = build.request.privacy != "off"
    ranked = {}
    for layer in profile.layers:
        placed = [place(fragment, layer, masked=is_masked) for fragment in results[layer.id].fragments]
        if build.request.privacy == "drop":
            placed = drop_secrets(placed, layer, documents)
        ranked[layer.id] = rank(placed, layer)
    selection, text, tokens, rank_problems = _show_each_once(build, profile, ranked)
    problems = (*_source_problems(results), *unmatched, *rule_problems, *rank_problems, *selection.problems)
    context = Context(
        text=text,
        tokens=tokens,
        etag=sha256(text.encode()).hexdigest(),
        profile=profile.name,
        request=build.request,
        sections=selection.sections,
        decisions=selection.decisions,
        allowances=selection.allowances,
        problems=tuple(dict.fromkeys(problems)),  # Two layers may read the same file.
        documents=tuple(documents[path] for path in sorted(documents)),
        rule_traces=traces,
    )
    if not profile.min_coherence:
        return context
    return context._replace(problems=(*context.problems, *_coherence_problems(context, profile.min_coherence)))


def _coherence_problems(context: Context, least: float) -> Iterator[Problem]:
    from contextasm.rendering.metrics import context_metrics  # here: most profiles set no least coherence

    coherence = context_metrics(context).coherence
    if coherence is not None and coherence < least:
        message = f"is {coherence:g}, below {least:g}: the fragments share few words, or contradict"
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


def _show_each_once(
    build: Build, profile: Profile, ranked: Mapping[str, Sequence[Fragment]]
) -> tuple[Selection, str, int, tuple[Problem, ...]]:
    """The selection without duplicates, its document with the tokens, and the problems of ranking.

    If a copy that stands for others is not shown, the next one stands in.
    """
    unshown: set[Copy] = set()
    while True:
        distinct, twins = deduplicate(profile, ranked, unshown)
        candidates, conflicts = resolve_conflicts(profile, distinct, build.request.prefer)
        problems = (*conflicts, *low_quality_problems(profile, candidates))
        selection, text, tokens = _select_within_budget(build, profile, candidates)
        missing = unshown_copies(twins, selection.decisions)
        if missing <= unshown:
            selection = selection._replace(decisions=with_twins(selection.decisions, twins))
            return selection, text, tokens, problems
        unshown |= missing


def _select_within_budget(
    build: Build, profile: Profile, candidates: Mapping[str, Sequence[Fragment]]
) -> tuple[Selection, str, int]:
    """The selection whose document holds the budget, that document, and its tokens.

    Exact counts of parts may add up to less than the count of the whole: then less is selected, until it fits.
    """
    request, counter = build.request, build.counter
    sections = section_format(request.format, profile.marker, counter.count)
    required = {layer.id for layer in profile.layers if layer.limits.required}
    spare = 0
    while True:
        selection = select(profile, candidates, request.budget, spare, counter, sections, build.summarizer)
        text = render_document(selection.sections, request.format)
        tokens = counter.tokens(counter.units(text))
        # Of required sections alone, a smaller budget takes nothing away.
        if tokens <= request.budget or required.issuperset(section.layer for section in selection.sections):
            return selection, text, tokens
        spare += tokens - request.budget


def _source_problems(results: Mapping[str, RetrievalResult]) -> Iterator[Problem]:
    for result in results.values():
        yield from result.problems
        for document in result.documents:
            yield from hidden_problems(document)
