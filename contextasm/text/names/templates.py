"""Templates of layers: paths such as `teams/{team}/daily/*.md`, lines such as `- [{type}] {text}`."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

_NAME = re.compile(r"\{(\w+)\}")
_ASIDE = re.compile(r" ?\([^(){}]*\{(\w+)\}[^(){}]*\)")
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

    The further lines of these are indented, so that none of them begins another item. Round brackets around a name
    whose value is empty are left out with all that is in them.
    """
    template = _ASIDE.sub(lambda match: match[0] if values.get(match[1], match[1]) else "", template)
    used = ((name, value) for name, value in values.items() if name in template)
    shown = {name: value.replace("\n", "\n  ") if name in texts else one_line(value) for name, value in used}
    return fill_template(template, shown)


ARCHIVE = "archive"
"""Name of the folders that hold what left the files next to them."""


def is_pattern(path: str) -> bool:
    """Whether a path holds a wildcard."""
    return any(mark in path for mark in "*?[")
