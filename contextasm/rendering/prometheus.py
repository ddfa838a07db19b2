"""Metrics of a build as a Prometheus text file: named series with their labels, in a fixed order.

The format is version 0.0.4 of the text-based exposition format, as the textfile collector of node_exporter reads it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isnan

from contextasm.model import OUTCOME, TIMEOUT, Context, NamedTuple
from contextasm.rendering.metrics import ContextMetrics, context_metrics
from contextasm.text.cleaning.clean import shown_name

Labels = Mapping[str, str]
"""Values by the names of their labels; an empty value is as good as no label, and is left out."""

NAN = float("nan")
"""The value of a series that has none, such as the share of nothing."""

SOURCE_ERRORS = {
    *(TIMEOUT, "bad-data", "bad-name", "embedder", "not-a-file", "not-a-folder", "not-text", "outside-workspace"),
    *("too-large", "unreadable"),
}
"""Codes of the problems of a source that gave nothing, or less than it has."""


Sample = tuple[float, Labels]
"""One value of a series, and what it is the value of."""


class Series(NamedTuple):
    """A metric with all its samples."""

    name: str
    kind: str
    """`gauge` or `counter`."""
    help: str
    """What the values are, with their unit, in one sentence."""
    samples: Sequence[Sample]


class BuildTimes(NamedTuple):
    """Durations, and the use of caches, of one build."""

    seconds: float
    """From the first source to the finished document."""
    layers: Mapping[str, float]
    """Seconds that the sources of each layer took, by its id; for a late one, those up to the end of the build."""
    cache_lookups: int
    """Token counts and vectors that the build asked its caches for."""
    cache_hits: int
    steps: Mapping[str, float]
    """Seconds that each step of the pipeline took, in their order."""
    earlier_errors: int = 0
    """Errors of sources in earlier builds of the same process."""

    @property
    def step_words(self) -> str:
        """Each step with its milliseconds, such as `retrieve 12.7, rank 0.9`."""
        return ", ".join(f"{name} {seconds * 1000:.1f}" for name, seconds in self.steps.items())


def exposition(series: Iterable[Series], common: Labels) -> str:
    """The series as the text of a metrics file; each sample has the labels `common`, too.

    Samples are in the order of their labels, and an empty series has only its HELP and TYPE lines.
    """
    return "".join(line for each in series for line in _series_lines(each, common))


def _series_lines(series: Series, common: Labels) -> Iterator[str]:
    yield f"# HELP {series.name} {_escaped(series.help)}\n"
    yield f"# TYPE {series.name} {series.kind}\n"
    lines = ((_label_text({**common, **labels}), value) for value, labels in series.samples)
    for labels, value in sorted(lines, key=lambda line: line[0]):
        yield f"{series.name}{labels} {_number(value)}\n"


def _label_text(labels: Labels) -> str:
    pairs = (f'{name}="{_label_value(value)}"' for name, value in labels.items() if value)
    text = ",".join(pairs)
    return f"{{{text}}}" if text else ""


def _label_value(value: str) -> str:
    # Without hidden characters and secrets, as everything that is shown: names of folders may come from anybody.
    written = shown_name(value).encode(errors="backslashreplace").decode()
    return _escaped(written).replace('"', '\\"')


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")


def _number(value: float) -> str:
    if isnan(value):
        return "NaN"
    return str(int(value)) if value == int(value) else str(round(value, 6))


def source_errors(context: Context) -> int:
    """Number of the context's problems of sources that gave nothing, or less than they have."""
    return sum(problem.code in SOURCE_ERRORS for problem in context.problems)


def build_labels(context: Context, workspace: str) -> Labels:
    """The labels of every sample of a build: who it is for, so that the files of several builds may be in one folder.

    `workspace` is the name of the workspace's folder.
    """
    request = context.request
    named = {"agent": request.agent, "team": request.team, "profile": context.profile, "request_id": request.request_id}
    return {"workspace": workspace, **named}


def build_series(context: Context, times: BuildTimes) -> list[Series]:
    """The series of a build: the five of the digest (section 4), then sizes, layers and what is left out."""
    report = context_metrics(context)
    return [
        *_named_series(context, report, times),
        *_document_series(context, report),
        *_layer_series(context),
        *_count_series(context),
    ]


def _named_series(context: Context, report: ContextMetrics, times: BuildTimes) -> Iterator[Series]:
    yield gauge("memory_assembly_duration_seconds", "Seconds from the first source to the document.", times.seconds)
    yield gauge(
        "memory_coherence_score",
        "Mean share of words common to two shown fragments, 0 to 1, minus 0.1 a conflict; NaN for fewer than two.",
        _or_nan(report["coherence"]),
    )
    yield gauge(
        "memory_cache_hit_ratio",
        "Share of the token counts and vectors that came from a cache, 0 to 1; NaN if none was needed.",
        times.cache_hits / times.cache_lookups if times.cache_lookups else NAN,
    )
    latency = "Seconds that the sources of a layer took; for a late layer, until the end of the build."
    yield gauges("memory_source_latency", latency, "layer", times.layers)
    yield gauges("ctxasm_step_seconds", "Seconds that each step of the build took.", "step", times.steps)
    yield Series(
        "memory_source_errors_total",
        "counter",
        "Files, embedders and layers that could not be read or did not answer, since the command began.",
        [(times.earlier_errors + source_errors(context), {})],
    )


def _document_series(context: Context, report: ContextMetrics) -> Iterator[Series]:
    yield gauge("ctxasm_context_tokens", "Tokens of the document.", context.tokens)
    yield gauge("ctxasm_budget_tokens", "Tokens that the document may have.", context.request.budget)
    yield gauge("ctxasm_context_bytes", "Bytes of the document in Markdown or XML.", len(context.text.encode()))
    yield gauge("ctxasm_input_files", "Files that were read for layers.", len(context.documents))
    yield gauge("ctxasm_input_bytes", "Bytes of these files.", sum(each.size for each in context.documents))
    coverage = "Share of the layers whose sources answered in time, 0 to 1."
    yield gauge("ctxasm_context_coverage_ratio", coverage, _or_nan(report["coverage"]))
    quality = "Mean score of what is shown, 0 to 1; NaN if nothing has a score."
    yield gauge("ctxasm_context_quality_ratio", quality, _or_nan(report["quality"]))


def _layer_series(context: Context) -> Iterator[Series]:
    usages = context.allowances
    starved = {problem.path for problem in context.problems if problem.code == "starved"}
    used = {usage.layer: usage.used for usage in usages}
    wanted = {usage.layer: usage.wanted for usage in usages}
    limits = {usage.layer: usage.limit for usage in usages if usage.limit is not None}
    cut = {layer: max(0, wanted[layer] - used[layer]) for layer in used}
    yield gauges("ctxasm_layer_used_tokens", "Tokens of a layer in the document.", "layer", used)
    yield gauges("ctxasm_layer_wanted_tokens", "Tokens of a layer if nothing were cut.", "layer", wanted)
    most = "The most tokens that a layer may take; absent if it has no limit."
    yield gauges("ctxasm_layer_limit_tokens", most, "layer", limits)
    yield gauges("ctxasm_layer_cut_tokens", "Tokens that a layer wants and does not get.", "layer", cut)
    left_none = "1 if a layer gets nothing because the layers before it took all, else 0."
    yield gauges("ctxasm_layer_starved", left_none, "layer", {layer: layer in starved for layer in used})


def _count_series(context: Context) -> Iterator[Series]:
    outcomes = Counter(dict.fromkeys(OUTCOME.values(), 0))
    for decision in context.decisions:
        outcomes[decision.outcome] += int(dict(decision.reason.facts).get("count", 1))
    problems = Counter(problem.code for problem in context.problems)
    yield gauges("ctxasm_fragments", "Fragments that were found, by outcome.", "outcome", outcomes)
    yield gauges("ctxasm_problems", "Problems of the build, by their code.", "code", problems)


def _or_nan(value: float | None) -> float:
    return NAN if value is None else value


def gauge(name: str, what: str, value: float) -> Series:
    """A series of one value; `what` says what it is, with its unit."""
    return Series(name, "gauge", what, [(value, {})])


def gauges(name: str, what: str, label: str, values: Mapping[str, float]) -> Series:
    """A series with a value for each value of a label."""
    return Series(name, "gauge", what, [(value, {label: each}) for each, value in values.items()])
