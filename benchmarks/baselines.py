"""What else one could put into a short context: files cut at the budget, newest lines, BM25, and the best there is.

Each baseline begins with the identity and the instructions, and keeps to the budget. Measures nothing.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from typing import Final

from conversations import IDENTITY, INSTRUCTIONS, MEMORIES, Conversation, Line, Question

from contextasm.retrieval.search.inverted_index import STOP, analyze, term

Baseline = Callable[[Conversation, Question, int], str]
HEAD: Final = (IDENTITY, INSTRUCTIONS)
UNITS: Final = 4
"""UTF-16 units of a token, by the estimate."""


def units(text: str) -> int:
    """Length of a text in UTF-16 units."""
    return len(text.encode("utf-16-le")) // 2


def tokens(text: str) -> int:
    """Size of a text by the estimate."""
    return math.ceil(units(text) / UNITS)


def packed(conversation: Conversation, lines: Iterable[Line], budget: int) -> str:
    """Identity, instructions, and the lines in this order; one that does not fit is skipped."""
    parts = [conversation.files[path] for path in HEAD]
    left = budget * UNITS - sum(map(units, parts))
    for line in lines:
        size = units(line.text) + 1
        if size <= left:
            parts.append(f"{line.text}\n")
            left -= size
    return "".join(parts)


def cat(conversation: Conversation, _question: Question, budget: int) -> str:
    """All files, one behind the other by path, cut at the budget."""
    files = conversation.files
    text = "".join(files[path] for path in (*HEAD, *sorted(files.keys() - HEAD)))
    return text.encode("utf-16-le")[: budget * UNITS * 2].decode("utf-16-le", "ignore")


def newest_lines(conversation: Conversation, _question: Question, budget: int) -> str:
    """The newest lines of logs and memories."""
    newest = sorted(conversation.lines, key=lambda line: line.day)[::-1]
    return packed(conversation, newest, budget)


def head_and_tail(conversation: Conversation, _question: Question, budget: int) -> str:
    """Memories and the two newest logs, evenly; a longer one by 70 % of its room from its head, 20 % from its tail."""
    files = conversation.files
    logs = sorted(path for path in files if "/daily/" in path)[-2:]
    text = "".join(files[path] for path in HEAD)
    left = budget * UNITS - units(text)
    paths = sorted(files.keys() & {MEMORIES, *logs}, key=lambda path: (len(files[path]), path))
    for behind, path in zip(reversed(range(len(paths))), paths, strict=True):
        room, part = left // (behind + 1), files[path]
        if units(part) > room:
            part = f"{_cut(part, room * 7 // 10)}\n...\n{_tail(part, room // 5)}"
        text += part
        left -= units(part)
    return text


def _cut(text: str, size: int) -> str:
    """The beginning of a text."""
    return text.encode("utf-16-le")[: size * 2].decode("utf-16-le", "ignore")


def _tail(text: str, size: int) -> str:
    """The end of a text."""
    return text.encode("utf-16-le")[-size * 2 :].decode("utf-16-le", "ignore")


class Bm25:
    """Lines best first by BM25 with the usual constants, for one way to make words of a text."""

    K1: Final = 1.2
    B: Final = 0.75

    def __init__(self, words: Callable[[str], list[str]]) -> None:
        self._words = words
        self._counts: dict[str, list[Counter[str]]] = {}

    def __call__(self, conversation: Conversation, question: Question, budget: int) -> str:
        """The best lines, packed greedily."""
        return packed(conversation, self.ranked(conversation, question), budget)

    def ranked(self, conversation: Conversation, question: Question) -> list[Line]:
        """The lines that share a word with the question, best first."""
        if conversation.name not in self._counts:
            self._counts[conversation.name] = [Counter(self._words(line.text)) for line in conversation.lines]
        counts = self._counts[conversation.name]
        sizes = [*map(Counter.total, counts)]
        mean = sum(sizes) / len(sizes)
        scores: defaultdict[int, float] = defaultdict(float)
        for word in dict.fromkeys(self._words(" ".join(word for word in analyze(question.text) if word not in STOP))):
            rows = [row for row, count in enumerate(counts) if word in count]
            weight = math.log(1 + (len(counts) - len(rows) + 0.5) / (len(rows) + 0.5))
            for row in rows:
                often, long = counts[row][word], 1 - self.B + self.B * sizes[row] / mean
                scores[row] += weight * often * (self.K1 + 1) / (often + self.K1 * long)
        return [conversation.lines[row] for row in sorted(scores, key=lambda row: (-scores[row], row))]


def plain_words(text: str) -> list[str]:
    """Words in small letters."""
    return re.findall(r"[^\W_]+", text.lower())


def cut_words(text: str) -> list[str]:
    """Words without the commonest English endings."""
    return [re.sub(r"(?:ies|ing|ed|es|s)$", "", word) if len(word) > 4 else word for word in plain_words(text)]


def snowball_words(text: str) -> list[str]:
    """Words as the search reduces them."""
    return [term(word) for word in analyze(text)]


def oracle(conversation: Conversation, question: Question, budget: int) -> str:
    """The lines that are needed, the shortest of each choice: no chooser holds more."""
    shortest = [
        min((line for line in conversation.lines if line.id in need), key=lambda line: len(line.text))
        for need in question.needs
    ]
    return packed(conversation, sorted(set(shortest), key=lambda line: len(line.text)), budget)


SNOWBALL: Final = Bm25(snowball_words)
"""The strongest baseline that could be had without this package's search."""

BASELINES: Final[dict[str, Baseline]] = {
    "cat, cut at the budget": cat,
    "newest lines": newest_lines,
    "head and tail, 70/20 a file": head_and_tail,
    "BM25, lines packed": Bm25(plain_words),
    "BM25, suffixes off": Bm25(cut_words),
    "BM25, Snowball terms": SNOWBALL,
    "oracle": oracle,
}
