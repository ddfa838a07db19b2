"""The pipeline: from a build to its context, one step after the other. The steps meet here and nowhere else."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from hashlib import sha256
from itertools import chain

from contextasm.model import (
    CONCATENATE,
    PERSONAL,
    Build,
    Context,
    ContextasmError,
    Document,
    Filters,
    Fragment,
    Layer,
    Problem,
    Profile,
    Ranking,
    Reason,
    RetrievalResult,
    RuleTrace,
    Workspace,
    in_order,
    timed_out_layers,
)
from contextasm.ranking.order import apply_filters, drop_secrets, low_quality_problems, rank
from contextasm.rendering.formats import place, render_document, section_format
from contextasm.retrieval.pool import labelled
from contextasm.retrieval.retrieve import (
    retrieve,
    unmatched_problems,
    with_cleaning,
    with_fallback_tops,
    with_layers_for_topic,
    with_message_steps,
)
from contextasm.selection.select import select
from contextasm.text.cleaning.clean import hidden_problems


def assemble(build: Build) -> Context:
    """The context for the build's request, with a decision for every fragment that was retrieved, counts included.

    Raises `ContextasmError` if a file of a required layer can't be read, or if the workspace or the system fails.
    """
    try:
        return _assemble(build)
    except OSError as error:
        where = str(error.filename or "workspace")
        raise ContextasmError(where, f"can't be read: {error.strerror or error}", "try again") from error
    except MemoryError as error:
        raise ContextasmError("memory", "this build needs more than there is", "leave out large files") from error


def _assemble(build: Build) -> Context:
    context, least = _assemble_once(build), build.profile.min_coherence
    if not least:
        return context
    from contextasm.rendering.metrics import context_coherence  # here: most profiles set no least coherence

    coherence = context_coherence(context)
    if coherence is None or coherence >= least:
        return context
    figures = f"{coherence:g}, below {least:g}, because the fragments share few words or contradict each other"
    problem = Problem("low-coherence", "coherence", 0, f"is {figures}")
    if build.profile.fallback == CONCATENATE:
        context = _assemble_once(_without_ranking(build, context))
        what = f"was {figures}; scores are ignored, and the fragments keep the order of their sources"
        problem = problem._replace(message=what)
    return context._replace(problems=(*context.problems, problem))


def _without_ranking(build: Build, context: Context) -> Build:
    """The build with layers that neither order nor choose by scores, to be assembled in the place of `context`.

    Layers that were late stay late. The others were in time, so no deadline is set for them again: a replay does the
    same.
    """
    layers = tuple(layer._replace(ranking=Ranking()) for layer in build.profile.layers)
    profile, late = build.profile._replace(layers=layers, select="layers"), timed_out_layers(context.problems)
    return build._replace(profile=profile, memory_index=None, run_sources=in_order, timed_out=late)


def _assemble_once(asked: Build) -> Context:
    profile = with_layers_for_topic(asked.profile, asked.request.topic)
    if asked.request.is_chat:
        profile = profile._replace(layers=tuple(map(with_message_steps, profile.layers)))
    asked.watch_step("retrieve")
    build, results = _retrieve_for_audience(asked._replace(profile=profile))
    profile = with_fallback_tops(profile, results)
    if build.request.filters != Filters():
        results = apply_filters(profile, results, build.request.filters)
    unmatched = (*build.problems, *unmatched_problems(build, results))
    traces: tuple[RuleTrace, ...] = ()
    rule_problems: tuple[Problem, ...] = ()
    if build.rules:
        from contextasm.rules.apply import apply_rules  # here: most workspaces have no rules

        build.watch_step("rules")
        workspace = with_cleaning(build).workspace
        profile, results, traces, rule_problems = apply_rules(build.rules, profile, results, workspace)
    documents = {document.path: document for result in results.values() for document in result.documents}
    build.watch_step("rank")
    ranked = {layer.id: _ranked(layer, build, results[layer.id].fragments, documents) for layer in profile.layers}
    # Texts as they were before headings moved are not kept in memory.
    results = {name: result._replace(fragments=()) for name, result in results.items()}
    context = _context_without_copies(build, profile, ranked)
    if any(fragment.labels.cites for fragments in ranked.values() for fragment in fragments):
        checked = _with_cites_checked(build, profile, ranked, context)
        if not checked:
            return _assemble_once(asked._replace(memory_index=None))
        ranked, context = checked
    found = ((*each.problems, *chain.from_iterable(map(hidden_problems, each.documents))) for each in results.values())
    problems = (*chain.from_iterable(found), *unmatched, *rule_problems, *context.problems, *_no_messages(context))
    context = context._replace(
        problems=tuple(dict.fromkeys(problems)),  # Two layers may read the same file.
        documents=tuple(documents[path] for path in sorted(documents)),
        rule_traces=traces,
        newest=tuple(_newest_days(profile, ranked, context)),
    )
    if profile.min_coherence or build.request.format == "json":
        context = _with_shown_documents(context, build.workspace)
    return context


def _no_messages(context: Context) -> Iterator[Problem]:
    messages = (each.message for each in context.decisions if each.message)
    if context.request.format == "chat-anthropic" and all(message.role == "tool" for message in messages):
        message = "the request has no message, so the API will refuse it"
        hint = "add a message of the user, or give the conversation with --history"
        yield Problem("no-messages", "chat-anthropic", 0, message, hint)


def _ranked(
    layer: Layer, build: Build, fragments: Sequence[Fragment], documents: Mapping[str, Document]
) -> Sequence[Fragment]:
    placed = [place(fragment, layer, masked=build.request.privacy != "off") for fragment in fragments]
    return rank(drop_secrets(placed, layer, documents) if build.request.privacy == "drop" else placed, layer)


def _with_cites_checked(
    build: Build, profile: Profile, ranked: dict[str, Sequence[Fragment]], context: Context
) -> tuple[dict[str, Sequence[Fragment]], Context] | None:
    """The ranked fragments and their context, each shown memory whose cited text has changed marked or left out.

    What moves up is checked, too, and no other memory. None if an index did not list enough of them for that.
    """
    from contextasm.text.memories.cites import CitedFile, changed_cite  # here: few memories cite anything

    files: dict[str, CitedFile | None] = {}
    while True:
        shown = {(decision.layer, decision.fragment) for decision in context.decisions if decision.kept}
        checked = dict[str, Sequence[Fragment]]()
        for layer in profile.layers:
            fragments = checked[layer.id] = [*ranked[layer.id]]
            places = 0  # of memories that were left out, for the next ones whose own text holds
            for number, fragment in enumerate(fragments):
                is_shown = (layer.id, fragment.id) in shown
                moves_up = places and not is_shown and fragment.verdict.excluded is None
                cites = fragment.labels.cites if is_shown or moves_up else ()
                if cite := changed_cite(cites, build.workspace, files):
                    fragments[number] = _with_changed_cite(fragment, layer, cite)
                places += bool(cite) and is_shown and layer.display.cited == "leave-out"
                places -= bool(moves_up and not cite)
            reasons = (fragment.verdict.excluded for fragment in fragments)
            if places and build.memory_index and any(reason.is_count for reason in reasons if reason):
                return None
        if all(checked[name] == [*ranked[name]] for name in checked):
            read = map(build.workspace.read, sorted(files))
            return ranked, context._replace(cited=tuple(each for each in read if isinstance(each, Document)))
        ranked = checked
        context = _context_without_copies(build, profile, ranked)


def _with_changed_cite(fragment: Fragment, layer: Layer, cite: str) -> Fragment:
    if layer.display.cited == "leave-out":
        return fragment.exclude(Reason.of("cited-text-changed", cite=cite))
    return fragment._replace(text=labelled(fragment.text, "changed since"), labels=fragment.labels._replace(cites=()))


def _newest_days(
    profile: Profile, candidates: Mapping[str, Sequence[Fragment]], context: Context
) -> Iterator[tuple[str, str]]:
    shown = {(decision.layer, decision.fragment) for decision in context.decisions if decision.kept}
    for name, trait in (("memory", "holds_memories"), ("log", "is_log")):
        layers = (layer.id for layer in profile.layers if any(getattr(each, trait) for each in layer.query.traits))
        fragments = ((layer, fragment) for layer in layers for fragment in candidates[layer])
        if day := max((each.labels.day for layer, each in fragments if (layer, each.id) in shown), default=""):
            yield name, day


def _with_shown_documents(context: Context, workspace: Workspace) -> Context:
    """The context with every file that it shows lines of: coherence needs them, and an index has not opened them."""
    documents = {document.path: document for document in context.documents}
    for path in {decision.path for decision in context.decisions if decision.kept} - documents.keys():
        if isinstance(read := workspace.read(path), Document):
            documents[path] = read
    return context._replace(documents=tuple(documents[path] for path in sorted(documents)))


def _retrieve_for_audience(build: Build) -> tuple[Build, Mapping[str, RetrievalResult]]:
    """The build as its audience may see it, and what it retrieves, with a receipt for each private part left out."""
    request, filters = build.request, build.request.filters
    if filters.since or filters.exclude or request.prefer or request.privacy == "drop":
        build = build._replace(memory_index=None)  # filters choose among memories, and it knows only the best ones
    if request.audience == PERSONAL:
        return build, retrieve(build)
    from contextasm.retrieval.reading.audience import for_audience, with_receipts  # here: most builds are personal

    build = for_audience(build)
    return build, with_receipts(build, retrieve(build))


def _context_without_copies(build: Build, profile: Profile, ranked: Mapping[str, Sequence[Fragment]]) -> Context:
    if profile.merge or profile.conflicts:
        from contextasm.ranking.deduplicate import show_each_once  # here: few profiles merge texts

        make_context = partial(_context_within_budget, build, profile)
        context = show_each_once(profile, ranked, build.request.prefer, make_context)
    else:
        context = _context_within_budget(build, profile, ranked)
        context = context._replace(problems=(*low_quality_problems(profile, ranked), *context.problems))
    build.watch_step("report")
    return context


def _context_within_budget(build: Build, profile: Profile, candidates: Mapping[str, Sequence[Fragment]]) -> Context:
    """The context whose document holds the budget, with the problems of selection.

    Exact counts of parts may add up to less than the count of the whole: then less is selected, until it fits.
    """
    request, counter = build.request, build.counter
    forms = section_format(request.format, profile.marker, counter.count)
    required = {layer.id for layer in profile.layers if layer.limits.required}
    spare = 0
    while True:
        build.watch_step("select")
        sections, decisions, allowances, problems = select(
            profile, candidates, request.budget, spare, counter, *forms, build.summarizer
        )
        build.watch_step("render")
        text = render_document(sections, request.format, profile.head)
        tokens = counter.tokens(counter.units(text))
        build.watch_step("rank")  # copies are compared again with what is shown
        # If only required sections are left, a smaller budget takes nothing away.
        if tokens <= request.budget or required.issuperset(section.layer for section in sections):
            etag = sha256(text.encode()).hexdigest()
            return Context(text, tokens, etag, profile.name, request, sections, decisions, allowances, problems)
        spare += tokens - request.budget
