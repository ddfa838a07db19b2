"""Templates of layers: paths such as `teams/{team}/daily/*.md`, lines such as `- [{type}] {text}`."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

_NAME = re.compile(r"\{(\w+)\}")
_ASIDE = re.compile(r"( ?)\(((?:[^(){}]|\{\w+\})*)\)")
_CONTROLS = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029]+")


def placeholders(template: str) -> list[str]:
    """Names in the braces of a template, in order."""
    return _NAME.findall(template)


def fill_template(template: str, values: Mapping[str, str]) -> str:
    """The template with each name replaced by its value; a name without a value stays, and no value is filled again."""
    return _NAME.sub(lambda match: values.get(match[1], match[0]), template)


def one_line(value: str) -> str:
    """A value without line breaks and other control characters; what can't be encoded is spelled out."""
    return _CONTROLS.sub(" ", value).encode(errors="backslashreplace").decode()


def fill_item(template: str, values: Mapping[str, str], texts: Collection[str] = ()) -> str:
    """The template of a list item with each name replaced by its value in one line; `texts` may have several.

    The further lines of these are indented, so that none of them begins another item. In round brackets, a part
    between commas with a name whose value is empty is left out, and the brackets if no part with a name is left.
    """
    template = _ASIDE.sub(lambda match: _aside(match, values), template)
    used = ((name, value) for name, value in values.items() if name in template)
    shown = {name: value.replace("\n", "\n  ") if name in texts else one_line(value) for name, value in used}
    return fill_template(template, shown)


def _aside(brackets: re.Match[str], values: Mapping[str, str]) -> str:
    """The brackets of a template without the parts that have no value."""
    parts = [part for part in brackets[2].split(", ") if all(values.get(name, name) for name in placeholders(part))]
    is_left = any(map(placeholders, parts)) or not placeholders(brackets[2])
    return f"{brackets[1]}({', '.join(parts)})" if is_left else ""


ARCHIVE = "archive"
"""Name of the folders that hold what left the files next to them."""


def is_pattern(path: str) -> bool:
    """Whether a path holds a wildcard."""
    return any(mark in path for mark in "*?[")
