"""Memories as they stand in a file: the bullets of a list, or a whole file that is one memory.

Reading only. Which memories count, and in which order, is for the steps above to say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from hashlib import sha256

from contextasm.model import Document, Memory, Problem
from contextasm.text.blocks import heading
from contextasm.text.front import Value, attributes
from contextasm.text.names import nearest

FIELDS = (
    "id type importance created accessed status confidence key tier dedup tags files private pin supersedes".split()
)
"""What a memory may say about itself (DESIGN.md section 2)."""

WORDS = {"low": 0.25, "medium": 0.5, "high": 0.75, "critical": 1.0}
"""Importance in words (digest, X8)."""


@dataclass(frozen=True, slots=True)
class _Bullet:
    """A top-level list item."""

    first: int
    """Its line in the document, counted from 0."""
    lines: tuple[str, ...]
    """Its text without the mark; blank lines at the end left off."""
    day: str
    """The date of the heading above it; empty for none."""


def memories(document: Document) -> tuple[tuple[Memory, ...], tuple[Problem, ...]]:
    """The memories of one file, in file order, and what is wrong with them.

    A file whose front matter has a `type` is one memory. In any other each top-level bullet is one, and the front
    matter holds their defaults.
    """
    reader = _Reader(document)
    if document.front.get("type"):
        found = [reader.memory(document.text, document.line, {}, "")]
    else:
        found = [reader.bullet(bullet) for bullet in _bullets(document.text.split("\n"))]
    found = [memory for memory in found if memory.text]
    if document.text.strip() and not found:
        reader.report("no-memory", document.line, "holds no memory: write each as a bullet, `- [type] text`")
    return tuple(_unique(found)), tuple(reader.problems)
