"""Analyzer: text to terms, by folding, splitting into words, and stemming.

English words lose their ending; words of other languages stay as they are, and scripts without spaces are split into
pairs of characters. Knows no grammar and no meaning.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from contextasm.retrieval.search.word_lists import BASES, STOP
from contextasm.text.lazy_pattern import lazy_pattern

# Scripts that put no space between words: Thai to Myanmar, Khmer, kana, Han, Hangul.
_DENSE: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
# Vowel signs of Indic scripts are no letters for `re`, but they do not end a word.
_SIGNS: Final = "\u0900-\u0963\u0966-\u0dff"
_LETTER: Final = rf"(?:[^\W_]|[{_SIGNS}])"
_ASCII_WORD: Final = re.compile("[a-z0-9]+(?:'[a-z]+)?")
_DENSE_RUN: Final = lazy_pattern(f"([{_DENSE}]+)")
_WORD: Final = lazy_pattern(rf"{_LETTER}+(?:'{_LETTER}+)?")
_ACCENTS: Final = re.compile("[\u0300-\u036f]+")
# Typographic marks: a text that is ASCII without them takes the fast path.
_MARKS: Final = str.maketrans(
    {"’": "'", "‘": " ", "“": " ", "”": " ", "–": " ", "—": " ", "…": " ", "•": " ", "→": " "}
)
# Letters with a stroke, and ligatures, which Unicode does not decompose.
_STROKES: Final = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "æ": "ae", "œ": "oe", "ı": "i"})
# Characters of a text in which its leading name is looked for.
_LEADING_LENGTH: Final = 200
# Snowball changes no word with another ending, and calling it is slow.
_INFLECTED: Final = re.compile("(?:[seyi]|ed|ing|er|ator|al|ful|ll|ic|ism|ion|[ea]nt)$")

SPEAKER_MARK: Final = ":"
"""End of a leading name that a colon follows in its text, as in a dialogue."""

# List mark, check box, emphasis, quotes and brackets in front of the first word; then that word, and what closes them.
_LEADING_WORD: Final = re.compile(
    r"[\s>#*+•–—-]*(?:\d+[.)]\s+)?(?:\[[ xX]\]\s+)?[\s*_~`\"'“‘«(\[{]*([^\W\d_]+(?:['’][^\W\d_]+)?)"
    r"[*_~`\"'”’»)\]}]*(:(?=[\s*_]|$)|：)?"
)
_WORD_OF_QUERY: Final = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")


def leading_name(text: str) -> str:
    """The first word of a text, folded, where it may be a name: it has a capital and is no stop word; else empty.

    With `SPEAKER_MARK` behind it where a colon follows it.
    """
    match = _LEADING_WORD.match(unicodedata.normalize("NFC", text[:_LEADING_LENGTH]))
    if match is None or not match[1][0].isupper():
        return ""
    word = analyze(match[1])[0]
    return "" if word in STOP else word + (SPEAKER_MARK if match[2] else "")


def capitalized_words(text: str) -> frozenset[str]:
    """Words of a text that begin with a capital, folded."""
    words = _WORD_OF_QUERY.findall(unicodedata.normalize("NFC", text))
    return frozenset(folded for word in words if word[0].isupper() for folded in analyze(word))


def split_words(text: str) -> list[str]:
    """Terms of a text without its stop words, in order; its stop words where it holds nothing else."""
    words = analyze(text)
    return [term(word) for word in words if word not in STOP] or [term(word) for word in words]


def analyze(text: str) -> list[str]:
    """All words of a text, without case and accents; scripts without spaces as pairs of characters."""
    if not text.isascii():
        text = text.translate(_MARKS)
    if text.isascii():
        return [_without_clitic(word) if "'" in word else word for word in _ASCII_WORD.findall(text.lower())]
    words: list[str] = []
    for number, part in enumerate(_DENSE_RUN.split(unicodedata.normalize("NFKC", text).casefold())):
        if number % 2:
            words += [part[at : at + 2] for at in range(len(part) - 1)] or [part]
        else:
            words += [_without_clitic(_without_accents(word)) for word in _WORD.findall(part)]
    return words


def is_dense(word: str) -> bool:
    """Whether a word is of a script without spaces: a character, or a pair of them."""
    return word >= "\u0e00" and _DENSE_RUN.match(word) is not None


def _without_clitic(word: str) -> str:
    # `ana's` becomes `ana`, `l'ecole` becomes `ecole`; `don't` becomes `dont`, a stop word.
    head, mark, tail = word.partition("'")
    if not mark:
        return word
    if tail == "t":
        return head + tail
    return head if len(tail) <= 2 else tail


def _without_accents(word: str) -> str:
    if word.isascii():
        return word
    bare = _ACCENTS.sub("", unicodedata.normalize("NFD", word)).translate(_STROKES)
    return unicodedata.normalize("NFC", bare)


@lru_cache(maxsize=1 << 18)
def term(word: str) -> str:
    """Term of a folded word: the stem of its base form."""
    base = BASES.get(word, word)
    if len(base) < 3 or not base.isascii() or not base.isalpha() or _INFLECTED.search(base) is None:
        return base
    return _stem()(base)


@lru_cache(maxsize=1)
def _stem() -> Callable[[str], str]:
    from Stemmer import Stemmer

    stem: Callable[[str], str] = Stemmer("english").stemWord
    return stem
