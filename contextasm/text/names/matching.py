"""Names in texts: the nearest of several names and lists of names, for messages, and names that a text mentions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable

MOST_NAMES = 40
"""Number of names that a message lists in full."""

_FIRST_NAMES = 10


def list_names(names: Collection[str], most: int = MOST_NAMES) -> str:
    """The names with commas between them; of more than `most` the first ones, ten at most, and how many others."""
    if len(names) <= most:
        return ", ".join(names)
    first = min(most, _FIRST_NAMES)
    return f"{', '.join([*names][:first])} and {len(names) - first:,} more"


def nearest(name: str, names: Iterable[str], least: float = 0.0) -> str:
    """The one of `names` most like `name`, case aside; empty if none is at least `least` (0 to 1) like it.

    For 0, half of a name of up to three letters has to be the same, and 60 % of a longer one.
    """
    least = least or (0.5 if len(name) < 4 else 0.6)
    by_folded = {candidate.casefold(): candidate for candidate in names}
    folded = name.casefold()
    if not any(_shares_letters(folded, candidate, least) for candidate in by_folded):
        return ""
    from rapidfuzz import fuzz, process  # here: a build looks for slips in front matter, and finds none as a rule

    match = process.extractOne(folded, by_folded.keys(), scorer=fuzz.ratio, score_cutoff=least * 100)
    return by_folded[match[0]] if match else ""


def _shares_letters(one: str, other: str, least: float) -> bool:
    # An upper bound of the likeness, for it leaves out the order of the letters.
    shared = (Counter(one) & Counter(other)).total()
    return 2 * shared >= least * (len(one) + len(other))


def mentions(text: str, name: str) -> bool:
    """Whether a text, case folded, holds a name as whole words."""
    folded = name.casefold()
    return folded in text and re.search(rf"(?<!\w){re.escape(folded)}(?!\w)", text) is not None


def repository_address(url: str) -> str:
    """The address that a URL of git names, such as `github.com/owner/name`: no scheme, user, port and `.git`.

    A pattern of addresses, and a path of a folder, stay as they are, but for a `/` at the end.
    """
    scheme, _, rest = url.rpartition("://")
    rest = re.sub(r"^[^/]*@", "", rest)
    rest = re.sub(r"^([^/:]+):(?:\d+(?=/))?/?" if scheme else r"^([^/:]+):/?", r"\1/", rest)
    return rest.rstrip("/").removesuffix(".git")
