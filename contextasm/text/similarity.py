"""Whether two texts say the same: the fold, the share of equal letters, and the thresholds.

Letters are compared, not meanings. Two texts with other numbers or names, or with other words that turn a meaning,
such as "not", never say the same, and neither do two of which each has a word that the other one lacks. The callers
decide what happens to two texts that do.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from hashlib import sha256
from itertools import pairwise, zip_longest
from unicodedata import category, normalize

from contextasm.model import Fragment, NamedTuple
from contextasm.text.markdown.blocks import blocks, has_title, heading, list_lead, list_mark
from contextasm.text.markdown.literals import indent_of

# Patterns are texts here: `re` compiles each on first need, and keeps it. Some take a millisecond.
_NUMBER = r"\d+(?:[.,:/-]\d+)*|[〇零一二三四五六七八九十百千万億亿兆两兩]+"
"""Numbers in digits, and in Chinese or Japanese ones."""

_NEGATION_WORDS = """
no not never none nobody nothing nowhere nor neither without cannot hardly barely scarcely seldom
nicht nichts nie niemals niemand nirgends weder ohne nein
pas jamais sans aucun aucune rien nunca sin ningun ninguna nada mai senza
"""
_NEGATIONS = frozenset(_NEGATION_WORDS.split())
_NOT = r"(?:cannot|\w+n['’ʼ]t|(?:is|are|was|were|do|does|did|ca|wo|must|should|could|would|has|have|had|need)nt)"

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
_STEMS = "|".join(_OPPOSITE_STEMS.split())
"""Beginnings of words: each ending belongs to the same meaning."""

_PREFIX = r"(?:un|in|im|ir|il|dis|non|mis|de|anti)\w{3}"
_SUFFIX = r"\w{2,}(less|ful|los)(?:ly|ness|e[nrms]?)?"
_WORD = (
    r"(?<!\w)\w{1,32}://\S*\w"
    r"|(?<!\w)\w[\w-]{0,255}(?:\.[^\W\d_]\w*)+"
    r"|[^\W\d_]+(?:['’ʼ][^\W\d_]+)?"
    r"|!=|[<>]=?|(?<!\w)[-−](?=\d)|(?<=\w)#|[%?]|[^\x00-\x7f\w\s]|[$+=~|]"
)
"""Addresses, names of files, words, and signs, among which there are marks that mean nothing.

Without the limits of the first two, a long run of digits or dashes would be read to its end from each of its signs.
"""
_ROMAN = r"m{0,3}(?:cm|cd|d?c{0,3})(?:xc|xl|l?x{0,3})(?:ix|iv|v?i{0,3})"
_NEGATION_SIGNS = "ない|ません|なかった|不|没|未|无|無|非|勿"
_STEM_LENGTH = 4
"""Letters of the word after a negation that are compared: its ending does not matter."""


def numbers(folded: str) -> tuple[str, ...]:
    """The numbers in a folded text, in order."""
    return tuple(re.findall(_NUMBER, folded))


def negations(folded: str) -> tuple[str, ...]:
    """The negations in a folded text, in order; all forms of `not` are one."""
    words = [negation for word in re.findall(_WORD, folded) if (negation := _negation(word))]
    return (*words, *re.findall(_NEGATION_SIGNS, folded))


def polarity(folded: str) -> tuple[str, ...]:
    """The words and signs of a folded text that turn its meaning, in order; a negation with the word that it negates.

    In "A is used, and B is not used" and "A is not used, and B is used" the same word negates other words.
    """
    marks = []
    for word, following in pairwise([*re.findall(_WORD, folded), ""]):
        if negation := _negation(word):
            marks.append(f"{negation} {following[:_STEM_LENGTH]}".rstrip())
        elif mark := _opposite(word):
            marks.append(mark)
    signs = (match[0] + folded[match.end() : match.end() + 1] for match in re.finditer(_NEGATION_SIGNS, folded))
    return (*marks, *signs)


@lru_cache(maxsize=4096)
def _negation(word: str) -> str:
    if re.fullmatch(_NOT, word):
        return "not"
    return word if word in _NEGATIONS or word.startswith("kein") else ""


@lru_cache(maxsize=4096)
def _opposite(word: str) -> str:
    """The part of a word that turns the meaning of a text; empty for none."""
    if word in _OPPOSITES or "." in word or "/" in word or re.fullmatch(_ROMAN, word):
        return word
    if not word[0].isalpha() or len(word) == 1:
        return _sign(word)
    if match := re.match(_STEMS, word) or re.match(_PREFIX, word):
        return match[0]
    suffix = re.fullmatch(_SUFFIX, word)
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
    """Similarity of two texts as written, 0 to 1; 0 if they differ in a number, in a name or in their polarity.

    "Keep 3 copies" and "Keep 5 copies" differ in one letter and in all that matters. It is `RELATED` at most if another
    word is in the place of a word, such as "tea" and "tee", or "lives" and "works".
    """
    from rapidfuzz.distance import Indel

    first, second = fold_text(one), fold_text(other)
    cased = cased_words(one), cased_words(other)
    if _figures(first) != _figures(second) or (cased[0] != cased[1] and len(cased[0]) == len(cased[1])):
        return 0.0
    length = len(first) + len(second)
    share = (length - Indel.distance(first, second)) / length if length else 1.0
    return share if first == second or share < RELATED else min(share, _most_alike(one, other))


@lru_cache(maxsize=4096)
def cased_words(text: str) -> Sequence[str]:
    """The words whose case may tell them apart: flags (`-v`), and words with a capital inside (`userId`)."""
    return re.findall(r"(?<!\w)-[A-Za-z]\w*|(?<!\w)\w[^\WA-Z]*[A-Z]\w*", normalize("NFKC", text))


@lru_cache(maxsize=4096)
def _figures(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    # One text is compared with many.
    return numbers(text), polarity(text)


_PIECE = r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]|[^\s\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]+"
"""A word between blanks, or one letter of a script that has none."""
_CORE = r"[./~@$#]?\w(?:.*\w)?(?=['’ʼ]s\W*$)|[./~@$#]?\w(?:.*\w)?"
"""A word without the marks around it and without `'s`."""
_SENTENCE_END = r".*[.!?:;…][\"')\]*_»”’]*"
_IDENTIFIER = r".*[\d_./~@$#\\-].*|.+[A-Z].*|[b-df-hj-np-tv-xzB-DF-HJ-NP-TV-XZ]{2,}"
"""Paths, versions, addresses, words with a hyphen or a capital inside, and words without a vowel, such as `ssh`."""
_FORM_WORDS = frozenset(
    ("a an the this that these those its is are was were be been has have had " + "der die das den dem des ein").split()
)
"""Words of which it does not matter which one is there."""
_FORMS = (
    r"(?=\w*[aeiouyäöü])(\w{3,}?)"
    r"(?: \1(?:e?s|ed|ing|(?<=e)d)|s \1(?:ed|ing)|(?<=e)d \1s|ed \1(?:es|ing)|es \1ing|e \1ing)"
)
"""Two forms of a word, the shorter one first, such as `cache caches` and `cached caching`."""


@lru_cache(maxsize=4096)
def words_and_names(text: str) -> tuple[tuple[str, ...], frozenset[str]]:
    """The folded words of a text, in order but without articles and negations, and the names and identifiers in it.

    A word with a capital is a name unless it begins a sentence, or turns a meaning as the names of days do.
    """
    words, names, begins = list[str](), set[str](), True
    for token in re.findall(_PIECE, normalize("NFKC", text)):
        core = re.search(_CORE, token)
        word = core[0].casefold() if core else ""
        if core and word not in _FORM_WORDS and not _negation(word):
            words.append(word)
            has_capital = core[0][0].isupper() and not begins and not re.match(_STEMS, word)
            names |= {word} if has_capital or re.fullmatch(_IDENTIFIER, core[0]) else set()
        begins = bool(re.fullmatch(_SENTENCE_END, token))
    return tuple(words), frozenset(names)


def _most_alike(one: str, other: str) -> float:
    """The most that the similarity of two texts may be, as they differ in words."""
    from rapidfuzz.distance import Levenshtein

    (first, names), (second, other_names) = words_and_names(one), words_and_names(other)
    edits = Levenshtein.opcodes(first, second)
    blocks = ((first[edit.src_start : edit.src_end], second[edit.dest_start : edit.dest_end]) for edit in edits)
    pairs = [pair for left, right in blocks if left != right for pair in zip_longest(left, right, fillvalue="")]
    # The first word has a capital whether it is a name or not.
    begins_alike = first[:1] == second[:1] or {*first[:1]} & {*second} or {*second[:1]} & {*first}
    if {word for pair in pairs for word in pair} & (names | other_names) or not (begins_alike or _are_forms(*pairs[0])):
        return 0.0
    has_swapped = bool({*pairs} & {(right, left) for left, right in pairs})
    has_moved = len({bool(left) for left, right in pairs if not (left and right)}) > 1
    return RELATED if has_swapped or has_moved or not all(_are_forms(*pair) for pair in pairs if all(pair)) else 1.0


def _are_forms(one: str, other: str) -> bool:
    """Whether two words are forms of one word, or long words a slip apart: two letters changed round, a vowel left out.

    Other misspellings are not distinguished from other words: "message" and "massage", "contract" and "contact".
    """
    from rapidfuzz.distance import OSA

    shorter, longer = sorted((one, other), key=lambda word: (len(word), word))
    if re.fullmatch(_FORMS, f"{shorter} {longer}"):
        return True
    has_same_ends = len(shorter) > _STEM_LENGTH and one[0] == other[0] and one[-1] == other[-1]
    letters = Counter(shorter), Counter(longer)
    is_slip = not letters[0] - letters[1] and {*(letters[1] - letters[0])} <= {*"aeiou"}
    return has_same_ends and is_slip and OSA.distance(one, other) == 1


def find_candidates(text: str, others: Sequence[str], least: float = SAME) -> list[int]:
    """The places of the texts in `others`, all folded, that `text` may be like, the most similar first.

    By their letters only: each is to be confirmed. `least` is a similarity.
    """
    if not others:
        return []
    from rapidfuzz import fuzz, process

    cutoff = least * 100 - 1  # rounding must lose none
    return [at for _, _, at in process.extract(text, others, scorer=fuzz.ratio, limit=None, score_cutoff=cutoff)]


def find_similar(text: str, others: Sequence[str], folded: Sequence[str]) -> list[tuple[int, float]]:
    """The places of the texts in `others`, as written, that say the same as `text`, each with its similarity.

    `folded` are the same texts, folded. The most similar by letters comes first.
    """
    shares = ((at, similarity(text, others[at])) for at in find_candidates(fold_text(text), folded))
    return [(at, share) for at, share in shares if share >= SAME]


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
    return text_fingerprint(stated_text(fragment))


def stated_text(fragment: Fragment) -> str:
    """The text of a fragment as written, without list mark and type."""
    return fragment.statement or fragment.text[len(list_lead(fragment.text)) :]


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
    titles: tuple[str, ...]
    """The headings that it is under and its own, without a title of the text that names no subject."""
    blocks: list[str]
    """The identity of each block of its own text: of the block as written, and of the blocks that it hangs on.

    A list item hangs on the items that it is in and on the text above its list, any other block on the one above it.
    """
    texts: list[str]
    """The text of each block: of a paragraph or item folded; of any other, and after a colon, as it is."""

    def key(self, *own: str) -> tuple[str, ...]:
        """The key of some of its blocks under its headings."""
        return ("section", *self.titles, "", *own)


_NO_SUBJECT = r"(?i)(?:(?:claude( code)?|agents\.md|gemini|copilot|cursor|md|rules|instructions|guidelines|for)\b\W*)+"
"""Titles that only name the file or the program that reads it."""


def text_sections(text: str) -> list[TextSection]:
    """The sections of a text, in their order."""
    lines = text.split("\n")
    in_order = [*blocks(lines)]
    with_title = has_title([block.levels for block in in_order])
    sections: list[TextSection] = []
    above: list[tuple[int, str, int]] = []  # level, words and number of each heading that the text is under
    hangs_on = [(-1, "", "")]  # depth, identity and text of the blocks that the next one may hang on
    for block in in_order:
        for line in range(block.first, block.body):
            if found := heading(lines[line]):
                while above and above[-1][0] >= found[0]:
                    above.pop()
                for _, _, number in above:
                    sections[number] = sections[number]._replace(size=sections[number].size + 1)
                above.append((found[0], found[1], len(sections)))
                titles = tuple(words for _, words, _ in above)
                is_bare = with_title and re.fullmatch(_NO_SUBJECT, titles[0])
                sections.append(TextSection(line, line, 1, titles[1:] if is_bare else titles, [], []))
                del hangs_on[1:]
        sections = sections or [TextSection(0, 0, 1, (), [], [])]
        if block.kind != "heading":
            body = "\n".join(lines[block.body : block.stop]).rstrip()
            is_item = block.kind == "text" and list_mark(body) > 0
            depth = 2 * indent_of(body)
            while hangs_on[-1][0] > depth + (not is_item):
                hangs_on.pop()
            _, identity, lead = hangs_on[-1]
            folded = fold_text(body) if block.kind == "text" and not lead.endswith(":") else f"\n{body}"
            identity = sha256(f"{identity}\n{body}".encode(errors="surrogatepass")).hexdigest()
            hangs_on.append((depth + is_item, identity, body))
            sections[-1].blocks.append(identity)
            sections[-1].texts.append(folded)
    stops = [*(section.first for section in sections[1:]), len(lines)]
    return [section._replace(stop=stop) for section, stop in zip(sections, stops, strict=True)]


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
