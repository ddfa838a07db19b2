"""The wording of decisions, rules and problems: every sentence about a part of a build is here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

from contextasm.model import Context, Decision, Problem, Reason, RuleTrace
from contextasm.text.cleaning.secrets.scanner import count_masks
from contextasm.text.names.dates import age_words
from contextasm.text.names.templates import one_line

REASONS: Mapping[str, str] = {
    "required": "its layer is required",
    "fits": "it fits",
    "fallback": "nothing matches the topic, so the newest are shown",
    "beside": "a line next to it, or the heading above it, matches the topic",
    "level": "its layer shows its {level} level of detail",
    "detail": "only its {level} level of detail fits {allowance} tokens ({limit})",
    "summarized": "only a summary fits {allowance} tokens ({limit})",
    "over-allowance": "only a part fits its {allowance} tokens ({limit})",
    "named": "only its title fits its {allowance} tokens ({limit})",
    "named-below-top": "rank {rank}; the first {top} are shown whole, so it is named",
    "no-room": "it does not fit its {allowance} tokens ({limit})",
    "starved": "the layers before it left {allowance} tokens",
    "not-in-top": "rank {rank}; the first {top} are shown",
    "outside-window": "{age} days old; the last {days} days are shown",
    "future": "dated after the day of the build",
    "not-yet": "it holds from {day} on",
    "expired": "it held until {day}",
    "cited-text-changed": "{cite}, which it cites, has changed",
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
    "below-floor": "its score of {score} is below the least that is shown, {least}",
    "overruled": "{by} differs on {key}, and wins by {strategy} (severity {severity}, confidence {confidence})",
    "merged": "the same as {into} in {path} ({by})",
    "same-text": "the same as in {path} from line {line} on ({by})",
    "imports": "it imports {path}, which is shown",
    "not-in-pool": "it is not among the best {pool}, and no others are considered",
    "no-highlight": "it is not among the last {most} highlights of its session, which is not the current one",
    "older-session": "its session is older than the {most} other sessions that show highlights",
    "not-reached": "it is more than {depth} steps from the entities that were found",
    "repeated": "it repeats line {line}",
    "shown-above": "{layer} shows it",
    "not-open": "it is for {globs}, and no such file is open (--open FILE)",
    "on-request": "it applies only if an agent asks for it",
    "front-matter": "line {line} of its front matter is not YAML, so it applies to nothing",
    "overridden": "{path} takes its place",
    "written": "a program wrote it, and its layer shows only what people wrote",
    "other-repository": "it holds only in {repositories}",
}
"""Wording of each reason."""

NUMBERS: Mapping[str, str] = {
    "not-in-top": "{count:,} more memories; the first {top} are shown",
    "no-match": "{count:,} {what} do not match the topic, or much less well than the best",
    "not-in-pool": "{count:,} more {what} match the topic, but only the {pool:,} best are considered",
    "merged": "{count:,} more {what} say the same as an equal or better match of their day",
    "status": "{count:,} memories whose status is {status}",
    "superseded": "{count:,} memories superseded by others",
    "no-highlight": "{count:,} more events of other sessions, which show their last {most} highlights",
    "older-session": "{count:,} events of older sessions; the highlights of {most} others are shown",
    "future": "{count:,} {what} dated after the day of the build",
    "not-yet": "{count:,} {what} that do not hold yet",
    "expired": "{count:,} {what} past their last day",
    "other-repository": "{count:,} {what} of other repositories",
    "written": "{count:,} {what} that a program wrote; the layer shows only what people wrote",
    "outside-window": "{count:,} {what} more than {days} days old",
}
"""Wording of reasons that many entries share, with their number."""


EXCLUDED_BY_DAY = {
    "outside-window": "older than {days} days",
    "expired": "past the last day",
    "not-yet": "before the first day",
}
"""Reasons that the receipt counts apart."""


def reason_words(reason: Reason) -> str:
    """The reason of a decision in words."""
    facts = {"what": "memories"} | dict(reason.facts)
    return (NUMBERS if reason.is_count else REASONS)[reason.code].format(**facts)


RULE_TRACES: Mapping[str, str] = {
    "fired": "fires",
    "disabled": "is switched off",
    "no-match": "does not fire: this is false: {field} {op} {value}",
    "missing-field": "does not fire: {field} has no value",
    "not-a-number": "does not fire: {field} {op} {value} compares numbers or days, and one of the two is neither",
    "regex-timeout": "does not fire: the pattern for {field} takes too long",
    "regex-too-long": "does not fire: {field} is too long to be searched",
    "shadowed": "{action} {target} lost to rule {by}",
    "protected": "{action} {target} lost: its layer is required",
    "no-target": "{action} {target} changes nothing: this build has no such layer",
    "no-match-found": "{action} {target} changes nothing: no layer found such a fragment",
    "no-score": "{action} {target} changes nothing: no such fragment is ranked by a score here",
}
"""Wording of each reason in the trace of a rule."""


def decision_words(decision: Decision) -> str:
    """The reason of a decision in words, the copies that its fragment represents, and its score."""
    places = [[*own] for _, own in groupby(decision.stands_for, key=lambda place: place.rpartition(":")[0])]
    names = ", ".join(own[0] + f" and {len(own) - 1} more" * (len(own) > 1) for own in places)
    twins = f"in place of {names}" if names else ""
    score = score_words(decision.score, decision.boosted_by)
    return "; ".join(filter(None, (reason_words(decision.reason), twins, score)))


def rule_trace_words(trace: RuleTrace) -> str:
    """The trace of a rule in words: that it fires or why not, and its effects that came to nothing."""
    reasons = (trace.reason, *trace.lost)
    return "; ".join(RULE_TRACES[reason.code].format(**dict(reason.facts)) for reason in reasons)


LINE_TRACES: Mapping[str, str] = {
    "secret": "is part of a secret, which is masked",
    "block": "ctxasm wrote this managed block, and never reads its own blocks",
    "front-matter": "front matter is never shown",
    "blank-line": "a blank line between fragments",
    "taken-out": "a comment, or the line under a heading: not shown",
    "between": "belongs to no fragment of this layer",
    "not-read": "no layer reads this file",
    "not-open": "no file in its folder is open (--open FILE)",
    "left-out": "its layer is left out of this build, by `enabled: false` or by --scope",
}
"""Wording of each reason why a line that belongs to no fragment is not shown, by the reason of a gap or a code."""


def score_words(score: Sequence[tuple[str, float]], boosted_by: Sequence[str] = ()) -> str:
    """A score with its parts, such as `0.71 of similarity 1.00, recency 0.30`; empty without a total.

    `boosted_by` are the rules that give its `boost`.
    """
    rules = f" (rule {', '.join(boosted_by)})" if boosted_by else ""
    parts = ", ".join(
        f"{name} {value:.2f}{rules if name == 'boost' else ''}" for name, value in score if name != "total"
    )
    total = dict(score).get("total")
    return "" if total is None else f"{total:.2f} of {parts}"


def problem_line(problem: Problem) -> str:
    """A problem in one line, with its place and code."""
    place = f"{problem.path}:{problem.line}" if problem.line else problem.path
    return one_line(f"{place}: {problem.advice} [{problem.code}]")


def receipt(context: Context, taken: str = "") -> str:
    """One line with tokens by layer, fallbacks, layers that lost by score, what is left out, and the newest days.

    `taken` says what else the person should know (`PreparedBuild.taken`); empty for nothing.
    """
    request = context.request
    parts = " ".join(f"{name}={tokens:,}" for name, tokens in token_parts(context).items())
    size = f"{context.tokens:,} of {request.budget:,} tokens ({request.tokenizer})"
    fallbacks = dict.fromkeys(decision.layer for decision in context.decisions if decision.reason.code == "fallback")
    fell_back = f"nothing matches the topic in {', '.join(fallbacks)}" if fallbacks else ""
    spent = f"{size}, headings included: {parts}" if parts else size
    by_score = dict.fromkeys(each.layer for each in context.decisions if ("limit", "score") in each.reason.facts)
    decided = f"scores decide between layers: {', '.join(by_score)}" if by_score else ""
    left_out = (_left_out_words(context), private_words(context))
    ages = ", ".join(f"{name} {age_words(day, request.date)} old" for name, day in context.newest)
    newest = f"newest {ages}" if ages else ""
    return "; ".join(filter(None, (spent, fell_back, decided, *left_out, newest, _mask_words(context), taken)))


def _mask_words(context: Context) -> str:
    """The number of masked secrets in the document, and how many there are of each kind."""
    counts = count_masks(context.text)
    kinds = ", ".join(f"{kind} {count}" if count > 1 else kind for kind, count in counts.items())
    total = sum(counts.values())
    return f"{total:,} secret{'s' * (total != 1)} masked ({kinds})" if counts else ""


def private_words(context: Context) -> str:
    """The number of private parts that a shared context lacks; empty for none."""
    count = sum(decision.reason.code == "private" for decision in context.decisions)
    return f"{count:,} private part{'s' if count > 1 else ''} left out because the context is shared" if count else ""


def _left_out_words(context: Context) -> str:
    """The numbers of fragments that are not shown whole, by outcome; shortened ones count as truncated.

    With the files of what the budget leaves out: the first three of each outcome.
    """
    counts = dict.fromkeys(("named", "merged", "shortened", "truncated", "dropped", "excluded"), 0)
    files: dict[str, dict[str, None]] = {"truncated": {}, "dropped": {}}
    for decision in context.decisions:
        if decision.outcome in counts:
            counts[decision.outcome] += int(dict(decision.reason.facts).get("count", 1))
        if decision.outcome in {"shortened", *files} and decision.path:
            files["dropped" if decision.outcome == "dropped" else "truncated"][decision.path] = None
    shortened = counts.pop("shortened")
    counts["truncated"] += shortened
    words = {outcome: f"{count:,} {outcome}" for outcome, count in counts.items() if count}
    if shortened:
        words["truncated"] += f", {shortened:,} of them shortened"
    for outcome, paths in files.items():
        if paths:
            words[outcome] += f" ({', '.join([*paths][:3])}{', ...' * (len(paths) > 3)})"
    for code, why in EXCLUDED_BY_DAY.items():
        if facts := [dict(each.reason.facts) for each in context.decisions if each.reason.code == code]:
            number = sum(int(each.get("count", 1)) for each in facts)
            which = "all" if number == counts["excluded"] else f"{number:,} of them"
            words["excluded"] += f", {which} {why.format(days=max(each.get('days', '') for each in facts))}"
    hint = "" if context.text or context.request.topic else "`--topic WORDS` looks for more"
    return "; ".join(filter(None, (", ".join(words.values()), hint)))


def token_parts(context: Context) -> dict[str, int]:
    """Tokens of each layer that is shown, by id, and of `joints`, if they have any; they add up to the document's.

    A layer has the tokens that it has everywhere: only its text counts. `joints` is the rest: where two layers meet,
    the whole may have more tokens than its parts, or fewer, since a token that both begin is one.
    """
    tokens = {usage.layer: usage.used for usage in context.allowances if usage.used}
    joints = context.tokens - sum(tokens.values())
    return {**tokens, "joints": joints} if joints else tokens
