"""Whether two texts say the same: the fold, the share of equal letters, and the thresholds.

Letters are compared, not meanings. Two texts with other numbers, or with other words that turn a meaning, such as
"not", never say the same. The callers decide what happens to two texts that do.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple
from unicodedata import category, normalize

from contextasm.model import Fragment
from contextasm.text.caching import lazy_pattern
from contextasm.text.markdown.blocks import blocks, has_title, heading, list_lead

_NUMBER = lazy_pattern(r"\d+(?:[.,:/-]\d+)*|[〇零一二三四五六七八九十百千万億亿兆两兩]+")
"""Numbers in digits, and in Chinese or Japanese ones."""

_NEGATION_WORDS = """
no not never none nobody nothing nowhere nor neither without cannot hardly barely scarcely seldom
nicht nichts nie niemals niemand nirgends weder ohne nein
pas jamais sans aucun aucune rien nunca sin ningun ninguna nada mai senza
"""
_NEGATIONS = frozenset(_NEGATION_WORDS.split())
_NOT = lazy_pattern(
    r"(?:cannot|\w+n['’ʼ]t|(?:is|are|was|were|do|does|did|ca|wo|must|should|could|would|has|have|had|need)nt)"
)

_OPPOSITE_WORDS = """
with on off in out up down over under yes true false always sometimes often rarely only except all any every each
some both either before after until since inside outside above below more less fewer most least min max
few many several somebody someone everybody everyone anybody anyone
north south east west northern southern eastern western black white red green blue yellow
dev prod odd even full empty light heavy soft hard easy
est edt cst cdt mst mdt pst pdt utc gmt bst cet cest ist jst
first last next previous former latter left right top bottom new old same other and or if unless
mit an aus ein auf zu vor nach bis seit ja immer selten nur alle jede jeder jedes mehr weniger oben unten links
rechts und oder wahr falsch
one two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty sixty hundred thousand
million half once twice double triple second third fourth fifth zero
eins zwei drei vier sechs sieben acht neun zehn elf hundert tausend einmal zweimal
mon tue tues wed thu thur thurs fri sat sun jan feb mar apr may jun jul aug sep sept oct nov dec
ms sec secs min mins hr hrs kb mb gb tb pb kib mib gib tib eur usd gbp kg km cm mm
am pm today tomorrow yesterday heute morgen gestern
"""
_OPPOSITES = frozenset(_OPPOSITE_WORDS.split())
"""Words that count as they stand; single letters do, too, but for `a`."""

_OPPOSITE_STEMS = """
enabl disabl allow permit deny denie forbid prohibit block unblock accept reject refus approv grant revok
start stop begin end open clos lock show hide hidden visibl add remov insert delet keep drop creat destroy
includ exclud increas decreas rais lower grow shrink push pull read writ send receiv import export
connect encrypt decrypt public privat internal external manual automatic optional mandatory requir
success succe fail pass valid trust safe dangerous better worse best worst high low large small big
long short fast slow early late hot cold good bad
lack lose losing lost win won gain buy bought sell sold lend lent borrow
prefer avoid like dislike love hate agree
local remote client server staging production sync async online offline
monday tuesday wednesday thursday friday saturday sunday weekday weekend
montag dienstag mittwoch donnerstag freitag samstag sonnabend sonntag
january february march april june july august september october november december
januar februar märz mai juni juli oktober dezember
minute hour day daily week month quarter year annual hourly millisecond
stunde tag täglich woche wöchentlich monat jahr jährlich
aktivier deaktivier erlaub verbiet verbot zulass ablehn annehm öffn schließ erhöh senk start stopp
kein
"""
_STEMS = lazy_pattern("|".join(_OPPOSITE_STEMS.split()))
"""Beginnings of words: each ending belongs to the same meaning."""

_PREFIX = lazy_pattern(r"(?:un|in|im|ir|il|dis|non|mis|de|anti)\w{3}")
_SUFFIX = lazy_pattern(r"\w{2,}(less|ful|los)(?:ly|ness|e[nrms]?)?")
_WORD = lazy_pattern(
    r"\w+://\S*\w"
    r"|\w[\w-]*(?:\.[^\W\d_]\w*)+"
    r"|[^\W\d_]+(?:['’ʼ][^\W\d_]+)?"
    r"|!=|[<>]=?|(?<!\w)[-−](?=\d)|(?<=\w)#|[%?]|[^\x00-\x7f\w\s]|[$+=~|]"
)
"""Addresses, names of files, words, and signs, among which there are marks that mean nothing."""
_ROMAN = lazy_pattern(r"m{0,3}(?:cm|cd|d?c{0,3})(?:xc|xl|l?x{0,3})(?:ix|iv|v?i{0,3})")
_NEGATION_SIGNS = lazy_pattern("ない|ません|なかった|不|没|未|无|無|非|勿")
_STEM_LENGTH = 4
"""Letters of the word after a negation that are compared: its ending does not matter."""


def numbers(folded: str) -> tuple[str, ...]:
    """The numbers in a folded text, in order."""
    return tuple(_NUMBER.findall(folded))


def negations(folded: str) -> tuple[str, ...]:
    """The negations in a folded text, in order; all forms of `not` are one."""
    words = [negation for word in _WORD.findall(folded) if (negation := _negation(word))]
    return (*words, *_NEGATION_SIGNS.findall(folded))


def polarity(folded: str) -> tuple[str, ...]:
    """The words and signs of a folded text that turn its meaning, in order; a negation with the word that it negates.

    In "A is used, and B is not used" and "A is not used, and B is used" the same word negates other words.
    """
    words = _WORD.findall(folded)
    marks = []
    for number, word in enumerate(words):
        if negation := _negation(word):
            marks.append(
                " ".join([negation, *(following[:_STEM_LENGTH] for following in words[number + 1 : number + 2])])
            )
        elif mark := _opposite(word):
            marks.append(mark)
    return (*marks, *(match[0] + folded[match.end() : match.end() + 1] for match in _NEGATION_SIGNS.finditer(folded)))


@lru_cache(maxsize=4096)
def _negation(word: str) -> str:
    if _NOT.fullmatch(word):
        return "not"
    return word if word in _NEGATIONS or word.startswith("kein") else ""


@lru_cache(maxsize=4096)
def _opposite(word: str) -> str:
    """The part of a word that turns the meaning of a text; empty for none."""
    if word in _OPPOSITES or "." in word or "/" in word or _ROMAN.fullmatch(word):
        return word
    if not word[0].isalpha() or len(word) == 1:
        return _sign(word)
    if match := _STEMS.match(word) or _PREFIX.match(word):
        return match[0]
    suffix = _SUFFIX.fullmatch(word)
    return suffix[1] if suffix else ""


def _sign(sign: str) -> str:
    """A single letter or sign; empty for an article and for marks of punctuation."""
    if sign == "−":
        return "-"
    is_mark = not sign.isascii() and not sign.isalpha() and category(sign)[0] != "S"
    return "" if sign == "a" or is_mark else sign


SAME = 0.92
"""Similarity from which on two texts say the same (digest, X7)."""

RELATED = 0.8
"""Similarity from which on two texts belong together (digest 1.6)."""


def fold_text(text: str) -> str:
    """A text without the differences that tell no two apart: case, width and form of letters, kinds of blanks."""
    return " ".join(normalize("NFKC", text).casefold().split())


def similarity(one: str, other: str) -> float:
    """Similarity of two folded texts, 0 to 1; 0 if they differ in a number or in their polarity.

    "Keep 3 copies" and "Keep 5 copies" differ in one letter and in all that matters.
    """
    from rapidfuzz.distance import Indel

    if _figures(one) != _figures(other):
        return 0.0
    length = len(one) + len(other)
    return (length - Indel.distance(one, other)) / length if length else 1.0


def is_same(one: str, other: str) -> bool:
    """Whether two folded texts say the same."""
    return similarity(one, other) >= SAME


@lru_cache(maxsize=4096)
def _figures(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    # One text is compared with many.
    return numbers(text), polarity(text)


def find_candidates(text: str, others: Sequence[str], least: float = SAME) -> list[int]:
    """The places of the texts in `others`, all folded, that `text` may be like, the most similar first.

    By their letters only: each is to be confirmed. `least` is a similarity.
    """
    if not others:
        return []
    from rapidfuzz import fuzz, process

    cutoff = least * 100 - 1  # rounding must lose none
    return [at for _, _, at in process.extract(text, others, scorer=fuzz.ratio, limit=None, score_cutoff=cutoff)]


def find_similar(text: str, others: Sequence[str], least: float = SAME) -> list[tuple[int, float]]:
    """The places of the texts in `others`, all folded, that are like `text`, each with its similarity, from `least` on.

    The most similar by letters comes first.
    """
    shares = ((at, similarity(text, others[at])) for at in find_candidates(text, others, least))
    return [(at, share) for at, share in shares if share >= least]


def most_similar(text: str, others: Collection[str]) -> str | None:
    """The one of `others` that says the same as `text` and is most like it, the first of equal ones; None for none.

    All are folded, and have the same numbers and polarity.
    """
    if not others or not text:
        return None
    from rapidfuzz import fuzz, process

    match = process.extractOne(text, others, scorer=fuzz.ratio, score_cutoff=SAME * 100)
    return str(match[0]) if match else None


class Fingerprint(NamedTuple):
    """The parts of a fragment that tell it from another one."""

    folded: str
    """Text without list mark and type, folded."""
    figures: tuple[str, ...]
    """Its numbers and negations, in order."""
    polarity: tuple[str, ...]
    """Its words that turn the meaning of a text, in order."""


def fingerprint(fragment: Fragment) -> Fingerprint:
    """The folded text of a fragment, with the numbers, negations and other words in it that decide its meaning."""
    return text_fingerprint(fragment.statement or fragment.text[len(list_lead(fragment.text)) :])


def text_fingerprint(text: str) -> Fingerprint:
    """A text folded, with the numbers, negations and other words in it that decide its meaning."""
    folded = fold_text(text)
    return Fingerprint(folded, (*numbers(folded), *negations(folded)), polarity(folded))


def identities(text: Fingerprint, hint: str, methods: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """By each of the methods `content` and `dedup`, in their order: a key that texts which say the same have in common.

    A declared `hint` has no key if it is empty; texts of one hint with other numbers or negations differ.
    """
    keys: dict[str, tuple[str, ...]] = {"content": ("content", text.folded)}
    if hint:
        keys["dedup"] = ("dedup", hint, *text.figures)
    return {method: keys[method] for method in methods if method in keys}


# --- Sections --------------------------------------------------------------------------------------------------------


class TextSection(NamedTuple):
    """A heading with the text up to the next one, by lines of a text, counted from 0.

    The text above the first heading is one, too.
    """

    first: int
    stop: int
    size: int
    """Number of sections that it consists of: itself and the ones below its heading."""
    titles: tuple[tuple[str, ...], ...]
    """The headings that it is under and its own, folded; a second time without the title of the text."""
    blocks: tuple[str, ...]
    """Each block of its own text, folded; of code and tables, as it is."""

    def keys(self, own: Sequence[str]) -> list[tuple[str, ...]]:
        """Keys of some of its blocks under its headings."""
        return [("section", *titles, "", *own) for titles in self.titles]


def text_sections(text: str) -> list[TextSection]:
    """The sections of a text, in their order."""
    lines = text.split("\n")
    in_order = [*blocks(lines)]
    with_title = has_title([block.levels for block in in_order])
    sections: list[TextSection] = []
    texts: list[list[str]] = []
    above: list[tuple[int, str, int]] = []  # level, words and number of each heading that the text is under
    for block in in_order:
        for line in range(block.first, block.body):
            if found := heading(lines[line]):
                while above and above[-1][0] >= found[0]:
                    above.pop()
                for _, _, number in above:
                    sections[number] = sections[number]._replace(size=sections[number].size + 1)
                above.append((found[0], fold_text(found[1]), len(sections)))
                titles = tuple(words for _, words, _ in above)
                without_title = titles[1:] if with_title else ()
                sections.append(TextSection(line, line, 1, (titles, without_title) if without_title else (titles,), ()))
                texts.append([])
        if not sections:
            sections.append(TextSection(0, 0, 1, ((),), ()))
            texts.append([])
        if block.kind != "heading":
            body = "\n".join(lines[block.body : block.stop])
            texts[-1].append(fold_text(body) if block.kind == "text" else body.strip())
    stops = [*(section.first for section in sections[1:]), len(lines)]
    every = zip(sections, stops, texts, strict=True)
    return [section._replace(stop=stop, blocks=tuple(own)) for section, stop, own in every]


# --- Common words ----------------------------------------------------------------------------------------------------

MAX_COMPARED = 60
"""Number of texts that are compared with each other: more take time and hardly change the mean."""


def words_of(lines: Iterable[str]) -> frozenset[str]:
    """The distinct words of some lines, of two letters or more, without the difference of case."""
    return frozenset(word for line in lines for word in re.findall(r"\w{2,}", line.casefold()))


def common_share(one: frozenset[str], other: frozenset[str]) -> float:
    """The number of common words as a share of the smaller set, 0 to 1; 0 if a set is empty."""
    smaller = min(len(one), len(other))
    return len(one & other) / smaller if smaller else 0.0
