"""Words and signs that turn the meaning of a text: negations, opposites, weekdays, months, numbers in words, units.

So do symbols, names of files, addresses and Roman numerals, which are compared as they stand.

Two texts that differ in one of them never say the same, however alike their letters are. English and German, the
commonest negations of some other languages. No grammar.
"""

from functools import lru_cache
from unicodedata import category

from contextasm.text.lazy_pattern import lazy_pattern

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
"""Letters of the word behind a negation that are compared: its ending does not matter."""


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
    """A letter or a sign that stands alone; empty for an article and for marks of punctuation."""
    if sign == "−":
        return "-"
    is_mark = not sign.isascii() and not sign.isalpha() and category(sign)[0] != "S"
    return "" if sign == "a" or is_mark else sign
