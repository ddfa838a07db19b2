"""The wording of decisions, rules, problems and tables: every sentence about a build stands here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

from contextasm.model import Context, Decision, Memory, Problem, Reason, RuleTrace, TokenCounter
from contextasm.rendering.frame import SECTIONS
from contextasm.text.secret_scanner import count_masks

Rows = Sequence[Sequence[str]]

REASONS: Mapping[str, str] = {
    "required": "its layer is required",
    "fits": "it fits",
    "fallback": "nothing matches the topic, so the newest are shown",
    "level": "its layer shows its {level} level of detail",
    "detail": "only its {level} level of detail fits {allowance} tokens ({limit})",
    "summarized": "only a summary fits {allowance} tokens ({limit})",
    "over-allowance": "only a part fits its {allowance} tokens ({limit})",
    "no-room": "it does not fit its {allowance} tokens ({limit})",
    "starved": "the layers before it left {allowance} tokens",
    "not-in-top": "rank {rank}, and {top} are shown",
    "outside-window": "{age} days old, and {days} are shown",
    "future": "dated after the day of the build",
    "blank": "the file is blank",
    "no-match": "it does not match the topic, or much less well than the best",
    "status": "its status is {status}",
    "superseded": "superseded by {by}",
    "rule": "rule {rule} excludes it",
    "private": "it is private, and this context is shared",
    "pinned": "rule {rule} includes it",
    "pin": "its field pin=true includes it",
    "secret": "holds a secret, and `privacy` is drop",
    "filtered": "{by} leaves it out",
    "below-floor": "its score of {score} is below the least that counts, {least}",
    "overruled": "{by} says otherwise of {key}, and takes precedence",
    "merged": "the same as {into} in {path} ({by})",
    "same-paragraph": "the same as line {line} of {path} ({by})",
    "not-in-pool": "it is not among the {pool} that are looked at",
    "not-reached": "it is more than {depth} steps from what was found",
    "repeated": "it says what line {line} says",
}
"""Wording of each reason."""

NUMBERS: Mapping[str, str] = {
    "not-in-top": "{count:,} more memories, and {top} are shown",
    "no-match": "{count:,} memories do not match the topic, or much less well than the best",
    "status": "{count:,} memories whose status is {status}",
    "superseded": "{count:,} memories superseded by others",
}
"""Wording of reasons that many memories share, with their number."""


def reason_words(reason: Reason) -> str:
    """The reason of a decision in words."""
    facts = dict(reason.facts)
    return (NUMBERS if "count" in facts else REASONS)[reason.code].format(**facts)


RULE_TRACES: Mapping[str, str] = {
    "fired": "fires",
    "disabled": "is switched off",
    "no-match": "does not fire: {field} {op} {value} does not hold",
    "missing-field": "does not fire: {field} has no value",
    "not-a-number": "does not fire: {field} {op} {value} compares what is no number and no day",
    "regex-timeout": "does not fire: the pattern for {field} takes too long",
    "regex-too-long": "does not fire: {field} is too long to be searched",
    "shadowed": "{action} {target} lost to rule {by}",
    "protected": "{action} {target} lost: its layer is required",
    "no-target": "{action} {target} changes nothing: this build has no such layer",
    "no-match-found": "{action} {target} changes nothing: no layer found such a fragment",
    "no-score": "{action} {target} changes nothing: no such fragment is ranked by a score here",
}
"""Wording of each reason in the trace of a rule."""


def rule_trace_words(trace: RuleTrace) -> str:
    """The trace of a rule in words: that it fires or why not, and its effects that came to nothing."""
    reasons = (trace.reason, *trace.lost)
    return "; ".join(RULE_TRACES[reason.code].format(**dict(reason.facts)) for reason in reasons)


def rule_trace_table(traces: Sequence[RuleTrace]) -> tuple[Sequence[str], Rows, Sequence[int]]:
    """Header, rows and numeric columns of the table of rules, in order of precedence."""
    rows = [(trace.rule, f"{trace.path}:{trace.line}", rule_trace_words(trace)) for trace in traces]
    return ("rule", "where", "what became of it"), rows, ()


LINE_TRACES: Mapping[str, str] = {
    "masked": "is part of a secret, which is masked",
    "managed-block": "ctxasm wrote this managed block, and never reads one",
    "front-matter": "front matter is never shown",
    "blank-line": "a blank line between fragments",
    "taken-out": "a comment, or a line that made a heading of the one above it: not shown",
    "between": "belongs to no fragment of this layer",
    "not-read": "no layer reads this file",
    "not-text": "this file could not be decoded: it is no text in UTF-8 or UTF-16",
    "unreadable": "this file could not be opened",
    "not-a-file": "this is no file",
    "outside-workspace": "this is a link that leads out of the workspace",
    "left-out": "its layer is left out of this build, by `enabled: false` or by --scope",
}
"""Wording of each reason why a line that belongs to no fragment is not shown."""


def line_trace_words(decision: Decision | None, code: str) -> str:
    """Outcome and reason of one line of a file: those of its decision, else the words for a code of `LINE_TRACES`."""
    return f"{decision.outcome}: {reason_words(decision.reason)}" if decision else LINE_TRACES[code]


def decision_table(decisions: Sequence[Decision], *, every: bool) -> tuple[Sequence[str], Rows, Sequence[int]]:
    """Header, rows and numeric columns of the table of decisions.

    Three or more unopened files with one layer and reason share a row, unless `every` is set.
    """
    rows: list[Sequence[str]] = []
    for (unopened, _, _), group in groupby(decisions, key=_row_group):
        members = [*group]
        if every or not unopened or len(members) < 3:
            rows += map(_decision_row, members)
        else:
            first, last = sorted((members[0].path, members[-1].path))
            span = f"{first} .. {last.rpartition('/')[2]}"
            why = f"{len(members)} files: {_common_reason_words(members)}"
            rows.append((members[0].layer, members[0].outcome, "0", "-", span, why))
    return ("layer", "outcome", "tokens", "of", "where", "why"), rows, (2, 3)


def _row_group(decision: Decision) -> tuple[bool, str, str]:
    unopened = decision.lines == (0, 0) and "count" not in dict(decision.reason.facts)
    return unopened, decision.layer, decision.reason.code


def _common_reason_words(decisions: Sequence[Decision]) -> str:
    facts = dict(decisions[0].reason.facts)
    if decisions[0].reason.code != "outside-window":
        return reason_words(decisions[0].reason)
    return f"older than the {facts['days']} days that are shown"


def score_words(score: Sequence[tuple[str, float]], boosted_by: Sequence[str] = ()) -> str:
    """A score with its parts, such as `0.71 of similarity 1.00, recency 0.30`; empty without a total.

    `boosted_by` are the rules behind its `boost`.
    """
    rules = f" (rule {', '.join(boosted_by)})" if boosted_by else ""
    parts = ", ".join(
        f"{name} {value:.2f}{rules if name == 'boost' else ''}" for name, value in score if name != "total"
    )
    total = dict(score).get("total")
    return "" if total is None else f"{total:.2f} of {parts}"


def _decision_row(decision: Decision) -> tuple[str, ...]:
    place = f"{decision.path}:{decision.lines[0]}" if decision.lines[0] else decision.path
    before = "-" if decision.tokens_before is None else f"{decision.tokens_before:,}"
    twins = f"stands for {', '.join(decision.stands_for)}" if decision.stands_for else ""
    score = score_words(decision.score, decision.boosted_by)
    why = "; ".join(filter(None, (reason_words(decision.reason), twins, score)))
    return (decision.layer, decision.outcome, f"{decision.tokens_after:,}", before, place, why)


def section_rows(context: Context, counter: TokenCounter) -> Rows:
    """Rows of the emitted sections: layer, heading, tokens, and `cut` where truncated.

    The tokens of a layer's sections add up to those of the layer.
    """
    parts = token_parts(context)
    tokens = {
        layer: iter(_apportion(units, parts[layer], counter.units_per_token))
        for layer, units in _section_units(context, counter).items()
    }
    return [
        (section.layer, section.heading, f"{next(tokens[section.layer]):,}", "cut" if section.truncated else "")
        for section in context.sections
    ]


def _section_units(context: Context, counter: TokenCounter) -> dict[str, list[int]]:
    """Units of each section with its heading, by layer."""
    units: dict[str, list[int]] = {}
    write_section = SECTIONS[context.request.format]
    for section in context.sections:
        text = write_section(section.layer, section.heading, section.text)
        units.setdefault(section.layer, []).append(counter.units(text))
    return units


def _apportion(units: Sequence[int], total: int, step: int) -> list[int]:
    """Tokens of parts with `step` units a token; begun ones go to the largest remainders until `total` is reached."""
    tokens = [size // step for size in units]
    rest = total - sum(tokens) if step > 1 else 0
    for place in sorted(range(len(units)), key=lambda place: -(units[place] % step))[:rest]:
        tokens[place] += 1
    return tokens


def plan_table(contexts: Sequence[Context]) -> tuple[Sequence[str], Rows, Sequence[int]]:
    """Header, rows and numeric columns of the tokens that each layer uses under several budgets."""
    header = ["layer", "wanted", *(f"{context.request.budget:,}" for context in contexts)]
    rows: list[Sequence[str]] = []
    for usages in zip(*(context.allowances for context in contexts), strict=True):
        cells = (f"{usage.used:,}{' cut' if usage.used < usage.wanted else ''}" for usage in usages)
        rows.append([usages[0].layer, f"{usages[0].wanted:,}", *cells])
    rows.append(["document", "", *(f"{context.tokens:,}" for context in contexts)])
    codes = (dict.fromkeys(problem.code for problem in context.problems) for context in contexts)
    rows.append(["problems", "", *(", ".join(distinct) or "-" for distinct in codes)])
    return header, rows, range(1, len(header))


def receipt(context: Context) -> str:
    """One line with the tokens used, their layers, fallbacks, private parts, and what else is left out by outcome."""
    request = context.request
    parts = " ".join(f"{name}={tokens:,}" for name, tokens in token_parts(context).items())
    size = f"{context.tokens:,} of {request.budget:,} tokens ({request.tokenizer})"
    fallbacks = dict.fromkeys(decision.layer for decision in context.decisions if decision.reason.code == "fallback")
    fell_back = f"nothing matches the topic in {', '.join(fallbacks)}" if fallbacks else ""
    spent = f"{size}, headings included: {parts}" if parts else size
    left_out = (_left_out_words(context), _private_words(context))
    return "; ".join(filter(None, (spent, fell_back, *left_out, _mask_words(context))))


def _mask_words(context: Context) -> str:
    """The number of masked secrets in the document, and how many there are of each kind."""
    counts = count_masks(context.text)
    kinds = ", ".join(f"{kind} {count}" if count > 1 else kind for kind, count in counts.items())
    total = sum(counts.values())
    return f"{total:,} secret{'s' * (total != 1)} masked ({kinds})" if counts else ""


def _private_words(context: Context) -> str:
    count = sum(decision.reason.code == "private" for decision in context.decisions)
    return f"{count:,} private part{'s' if count > 1 else ''} left out, for the context is shared" if count else ""


def token_parts(context: Context) -> dict[str, int]:
    """Tokens of each layer that is shown, by id, and of `joints`, if they have any; they add up to the document's.

    A layer has the tokens that it has everywhere: those of its text alone. `joints` is the rest: where two layers meet,
    the whole may have more tokens than its parts, or fewer, since a token that both begin is one.
    """
    tokens = {usage.layer: usage.used for usage in context.allowances if usage.used}
    joints = context.tokens - sum(tokens.values())
    return {**tokens, "joints": joints} if joints else tokens


def _left_out_words(context: Context) -> str:
    """The numbers of fragments that are not shown whole, by outcome; those that are shortened count as truncated."""
    counts = dict.fromkeys(("merged", "shortened", "truncated", "dropped", "excluded"), 0)
    for decision in context.decisions:
        if decision.outcome in counts:
            counts[decision.outcome] += int(dict(decision.reason.facts).get("count", 1))
    shortened = counts.pop("shortened")
    counts["truncated"] += shortened
    words = {outcome: f"{count:,} {outcome}" for outcome, count in counts.items() if count}
    if shortened:
        words["truncated"] += f" ({shortened:,} of them shortened)"
    return ", ".join(words.values())


def hit_rows(hits: Sequence[tuple[Memory, Sequence[tuple[str, float]]]]) -> tuple[Sequence[str], Rows, Sequence[int]]:
    """Header, rows and numeric columns of the hits of a search: score, its parts, and the memory."""
    parts = [name for name, _ in hits[0][1] if name != "total"]
    rows = [
        (
            f"{dict(score)['total']:.3f}",
            *(f"{dict(score)[name]:.2f}" for name in parts),
            memory.id,
            f"{memory.path}:{memory.line}",
            memory.type,
            " ".join(memory.text.split()),
        )
        for memory, score in hits
    ]
    return ("score", *parts, "id", "where", "type", "text"), rows, range(1 + len(parts))


def problem_line(problem: Problem) -> str:
    """A problem in one line, with its place and code."""
    place = f"{problem.path}:{problem.line}" if problem.line else problem.path
    return f"{place}: {problem.advice} [{problem.code}]"


def format_columns(header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int]) -> str:
    """Rows in columns, two blanks between them. `right` holds the columns that are aligned to the right."""
    lines = [tuple(header), *(tuple(row) for row in rows)]
    widths = [max(len(line[n]) for line in lines) for n in range(len(header))]
    shown = (
        "  ".join(
            cell.rjust(width) if n in right else cell.ljust(width)
            for n, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in lines
    )
    return "".join(line.rstrip() + "\n" for line in shown)


def plan_data(contexts: Sequence[Context]) -> dict[str, object]:
    """The plan as data for JSON, schema `ctxasm.plan/1`."""
    return {
        "schema": "ctxasm.plan/1",
        "budgets": [
            {
                "budget": context.request.budget,
                "tokens": context.tokens,
                "layers": [
                    {"layer": usage.layer, "wanted": usage.wanted, "used": usage.used} for usage in context.allowances
                ],
                "problems": [problem.code for problem in context.problems],
            }
            for context in contexts
        ],
    }
