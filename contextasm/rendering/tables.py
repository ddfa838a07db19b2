"""Tables about builds: the header, rows and columns of each, and rows as text."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from contextasm.model import Context, Decision, Memory, RuleTrace, TokenCounter, grouped
from contextasm.rendering.formats import render_section
from contextasm.rendering.wording import decision_words, reason_words, rule_trace_words, token_parts
from contextasm.text.names.templates import one_line

Rows = Sequence[Sequence[str]]

Table = tuple[Sequence[str], Rows, Sequence[int]]
"""Header, rows, and the columns of figures."""


def rule_trace_table(traces: Sequence[RuleTrace]) -> Table:
    """Header, rows and numeric columns of the table of rules, in order of precedence."""
    rows = [(trace.rule, f"{trace.path}:{trace.line}", rule_trace_words(trace)) for trace in traces]
    return ("rule", "where", "what became of it"), rows, ()


def decision_table(decisions: Sequence[Decision], *, every: bool) -> Table:
    """Header, rows and numeric columns of the table of decisions.

    Three or more of one layer share a row, unless `every` is set: unopened files of one reason, or fragments after its
    `top`. So do the sections of a file that another one has.
    """
    rows: list[Sequence[str]] = []
    for (is_alike, *_), group in groupby(decisions, key=_row_group):
        members = [*group]
        if not every and len(members) > 1 and members[0].reason.code == "same-text":
            why = f"{len(members)} sections: {reason_words(members[0].reason)}"
            rows.append((*_decision_row(members[0])[:-1], why))
        elif every or not is_alike or len(members) < 3:
            rows += map(_decision_row, members)
        else:
            first, last = sorted((_place(members[0]), _place(members[-1])), key=lambda place: place.rpartition("/")[2])
            span = f"{first} .. {last.rpartition('/')[2]}"
            why = f"{len(members)} {'fragments' if members[0].lines[0] else 'files'}: {_common_reason_words(members)}"
            rows.append((members[0].layer, members[0].outcome, "0", "-", span, why))
    return ("layer", "outcome", "tokens", "of", "where", "why"), rows, (2, 3)


_FOLDED = {"not-in-top", "no-highlight", "older-session"}
"""Codes of reasons that are one row for all of their fragments."""


def _row_group(decision: Decision) -> tuple[bool, str, str, str, object]:
    is_alike = (decision.lines == (0, 0) or decision.reason.code in _FOLDED) and not decision.reason.is_count
    other = dict(decision.reason.facts)["path"] if decision.reason.code == "same-text" else ""
    return is_alike, decision.layer, decision.reason.code, decision.path if other else "", other


def _common_reason_words(decisions: Sequence[Decision]) -> str:
    facts = dict(decisions[0].reason.facts)
    if decisions[0].reason.code == "not-in-top":
        return f"after the {facts['top']} that are shown"
    if decisions[0].reason.code != "outside-window":
        return reason_words(decisions[0].reason)
    return f"older than the {facts['days']} days that are shown"


def _decision_row(decision: Decision) -> tuple[str, ...]:
    before = "-" if decision.tokens_before is None else f"{decision.tokens_before:,}"
    tokens = f"{decision.tokens_after:,}", before
    return (decision.layer, decision.outcome, *tokens, _place(decision), decision_words(decision))


def _place(decision: Decision) -> str:
    return f"{decision.path}:{decision.lines[0]}" if decision.lines[0] else decision.path


def section_rows(context: Context, counter: TokenCounter) -> Rows:
    """Rows of the emitted sections: layer, heading, tokens, and `cut` if truncated.

    The tokens of a layer's sections add up to the tokens of the layer.
    """
    parts = token_parts(context)
    texts = ((section.layer, render_section(section, context.request.format)) for section in context.sections)
    units_of = grouped((layer, counter.units(text)) for layer, text in texts)
    tokens = {
        layer: iter(_apportion(units, parts[layer], counter.units_per_token)) for layer, units in units_of.items()
    }
    return [
        (section.layer, section.heading, f"{next(tokens[section.layer]):,}", "cut" if section.truncated else "")
        for section in context.sections
    ]


def _apportion(units: Sequence[int], total: int, step: int) -> list[int]:
    """Tokens of parts with `step` units a token; begun ones go to the largest remainders until `total` is reached."""
    tokens = [size // step for size in units]
    rest = total - sum(tokens) if step > 1 else 0
    for place in sorted(range(len(units)), key=lambda place: -(units[place] % step))[:rest]:
        tokens[place] += 1
    return tokens


def plan_table(contexts: Sequence[Context]) -> Table:
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


def hit_rows(hits: Sequence[tuple[Memory, Sequence[tuple[str, float]]]]) -> Table:
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


def format_columns(header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int]) -> str:
    """Rows in columns, two blanks between them. `right` holds the columns that are aligned to the right."""
    lines = [tuple(header), *(tuple(map(one_line, row)) for row in rows)]
    widths = [max(len(line[n]) for line in lines) for n in range(len(header))]
    shown = (
        "  ".join(
            cell.rjust(width) if n in right else cell.ljust(width)
            for n, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in lines
    )
    return "".join(line.rstrip() + "\n" for line in shown)
