"""Text to terms: folded, cut into words, each word reduced to what it is filed under.

English words lose their ending; words of other languages are kept as they stand, and scripts without spaces are
cut into pairs of characters. Knows no grammar and no meaning.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from contextasm.retrieval.search.word_lists import BASES, STOP

if TYPE_CHECKING:
    from collections.abc import Callable

# Scripts that put no space between words: Thai to Myanmar, Khmer, kana, Han, Hangul.
_DENSE: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
# Vowel signs of Indic scripts are no letters to `re`, but they do not end a word either.
_SIGNS: Final = "\u0900-\u0963\u0966-\u0dff"
_LETTER: Final = rf"(?:[^\W_{_DENSE}]|[{_SIGNS}])"
_PLAIN_WORD: Final = re.compile("[a-z0-9]+(?:'[a-z]+)?")
_DENSE_LETTER: Final = re.compile(f"[{_DENSE}]")
_ACCENTS: Final = re.compile("[\u0300-\u036f]+")
# Typographer's marks, so that a text which is plain but for them takes the short way.
_MARKS: Final = str.maketrans(
    {"’": "'", "‘": " ", "“": " ", "”": " ", "–": " ", "—": " ", "…": " ", "•": " ", "→": " "}
)
# Letters with a stroke or a twin in them, which Unicode does not take apart.
_STROKES: Final = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "æ": "ae", "œ": "oe", "ı": "i"})
# Snowball changes no word with another ending, and asking it is dear.
_INFLECTED: Final = re.compile("(?:[seyi]|ed|ing|er|ator|al|ful|ll|ic|ism|ion|[ea]nt)$")


def split_words(text: str) -> list[str]:
    """The terms that carry a text's topic, in order; its stop words where it holds nothing else."""
    found = analyze(text)
    return [term(word) for word in found if word not in STOP] or [term(word) for word in found]


def analyze(text: str) -> list[str]:
    """Every word of a text, without case and accents; scripts without spaces as pairs of characters."""
    if not text.isascii():
        text = text.translate(_MARKS)
    if text.isascii():
        return [_bare(word) if "'" in word else word for word in _PLAIN_WORD.findall(text.lower())]
    found: list[str] = []
    for word in _any_word().findall(unicodedata.normalize("NFKC", text).casefold()):
        if is_dense(word):
            found += [word[at : at + 2] for at in range(len(word) - 1)] or [word]
        else:
            found.append(_bare(_unaccented(word)))
    return found


@lru_cache(maxsize=1)
def _any_word() -> re.Pattern[str]:
    # Compiled when first needed: the classes are so large that it takes milliseconds.
    return re.compile(rf"[{_DENSE}]+|{_LETTER}+(?:'{_LETTER}+)?")


def is_dense(word: str) -> bool:
    """Whether a word is of a script without spaces, and so a character or a pair of them."""
    return word >= "\u0e00" and _DENSE_LETTER.match(word) is not None


def _bare(word: str) -> str:
    """`ana's` is about `ana`, `l'ecole` about `ecole`; `don't` becomes `dont`, a stop word."""
    head, mark, tail = word.partition("'")
    if not mark:
        return word
    if tail == "t":
        return head + tail
    return head if len(tail) <= 2 else tail


def _unaccented(word: str) -> str:
    if word.isascii():
        return word
    bare = _ACCENTS.sub("", unicodedata.normalize("NFD", word)).translate(_STROKES)
    return unicodedata.normalize("NFC", bare)


@lru_cache(maxsize=1 << 18)
def term(word: str) -> str:
    """What a folded word is filed under: the stem of its base form."""
    base = BASES.get(word, word)
    if len(base) < 3 or not base.isascii() or not base.isalpha() or _INFLECTED.search(base) is None:
        return base
    return _stem()(base)


@lru_cache(maxsize=1)
def _stem() -> Callable[[str], str]:
    from snowballstemmer import stemmer  # here, so that a build without a topic never loads it

    stem: Callable[[str], str] = stemmer("english").stemWord
    return stem
