"""Patterns that are compiled at first use.

To compile one takes up to milliseconds, and more if it names many characters outside ASCII. Most builds use few.
"""

from __future__ import annotations

import re
from typing import Any, cast


class _LazyPattern:
    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        # Asked once for each name: later uses find the attribute of the compiled pattern.
        value = getattr(re.compile(self.pattern, self._flags), name)
        setattr(self, name, value)
        return value


def lazy_pattern(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """A pattern that is compiled when it is first searched with; one with a fault raises `re.error` no sooner."""
    return cast("re.Pattern[str]", _LazyPattern(pattern, int(flags)))
