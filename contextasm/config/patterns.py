"""Regular expressions of rules, checked before one is ever tried on a text."""

from __future__ import annotations

import re
from math import prod

from contextasm.config.values import parse_scalar
from contextasm.model import ContextasmError

LONGEST_PATTERN = 1000
"""Characters of a regular expression."""

LARGEST_PATTERN = 200_000
"""Characters, repetitions written out: `regex` unrolls `(a{1000}){1000}` as it compiles, where no time limit holds."""

_COUNT = r"(\)?)\{(\d+)"
_VERBOSE = r"(?<!\\)(?:\\\\)*\(\?[\w-]*x"
_REPEATED_REPETITION = r"(?<!\\)\((?:\?:)?(?:\\?[^\\()|\[\]]|\[\^?\]?[^\]]*\])(?:[*+]|\{\d*,\})\)(?:[*+]|\{\d*,\})"
"""A group that is repeated without limit and holds nothing but a repetition: `(a+)+`, which says no more than `a+`."""


def parse_pattern(value: object, where: str) -> str:
    """A regular expression that compiles, and that does so in a short time."""
    import regex

    pattern = parse_scalar(value, where)
    if len(pattern) > LONGEST_PATTERN:
        raise ContextasmError(where, f"a pattern of {len(pattern)} characters", f"keep it to {LONGEST_PATTERN}")
    if re.search(_VERBOSE, pattern):
        raise ContextasmError(where, "a pattern with the flag `x`", "write it without blanks and comments")
    if re.search(_REPEATED_REPETITION, pattern):
        hint = "take the inner `+` or `*` away: such a search can take for ever"
        raise ContextasmError(where, "a pattern that repeats a repetition", hint)
    if _unrolled_length(pattern) > LARGEST_PATTERN:
        raise ContextasmError(where, "a pattern that repeats too often", "make its counts smaller")
    try:
        regex.compile(pattern)
    except (regex.error, RecursionError, OverflowError) as error:
        hint = "put it right; in single quotes YAML leaves a backslash alone"
        raise ContextasmError(where, f"bad pattern: {error}", hint) from error
    return pattern


def _unrolled_length(pattern: str) -> int:
    """The most characters that the pattern can have with its repetitions written out: groups may be nested."""
    counts = [(closing, max(1, int(count))) for closing, count in re.findall(_COUNT, pattern)]
    groups = prod(count for closing, count in counts if closing)
    return len(pattern) * groups * max((count for closing, count in counts if not closing), default=1)
