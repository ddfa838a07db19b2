"""Inverted index: texts to terms, the rows and numbers of terms, and columns with other facts of each row.

English words lose their ending; words of other languages stay as they are, and scripts without spaces are split into
pairs of characters. A search reads `Index`; `build_index` makes one in memory, and `memory_index` has one in a file.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Final

from contextasm.model import LENGTH_PENALTY, NamedTuple

STOP: Final = frozenset(
    """
    a about above after again against ago all almost already also although always am among an and another any anyone
    anything are around as at away
    be because been before being below between both but by
    can cannot could
    did do does doing done down during
    each either else ever every everyone everything
    few for from further
    get gets getting
    had has have having he hello her here hers herself hey hi him himself his how however
    i if in into is it its itself
    just
    kind
    let like likely
    many may maybe me might mine more most much must my myself
    neither no nor not now
    of off oh ok okay on once one only or other others our ours ourselves out over own
    per perhaps please
    quite
    rather really
    same shall she should since so some someone something such sure
    than thank thanks that the their theirs them themselves then there these they thing things this those though through
    to too toward towards
    under until up upon us
    very via
    was we well were what whatever when where whether which while who whom whose why will with within without would wow
    yeah yes yet you your yours yourself
    ain aren couldn d didn doesn don hadn hasn haven isn ll m mightn mustn needn re s shan shouldn t ve wasn weren won
    wouldn im ive dont didnt doesnt isnt wasnt cant wont thats whats lets
    """.split()
)

# Base form first, then the forms that lead to it.
_IRREGULAR: Final = """
    arise arose arisen; awake awoke awoken; bad worse worst; bear bore borne; beat beaten; become became; begin
    began begun; bend bent; bind bound; bite bit bitten; bleed bled; blow blew blown; break broke broken; breed
    bred; bring brought; build built; burn burnt; buy bought; calf calves; catch caught; child children; choose
    chose chosen; cling clung; come came; creep crept; crisis crises; criterion criteria; deal dealt; dig dug; dive
    dove; draw drew drawn; dream dreamt; drink drank drunk; drive drove driven; eat ate eaten; fall fell fallen;
    feed fed; feel felt; fight fought; find found; flee fled; fly flew flown; foot feet; forbid forbade forbidden;
    forget forgot forgotten; forgive forgave forgiven; freeze froze frozen; give gave given; go went gone; goose
    geese; grind ground; grow grew grown; half halves; hang hung; hear heard; hide hid hidden; hold held; hypothesis
    hypotheses; index indices; keep kept; kneel knelt; knife knives; know knew known; lay laid; lead led; leaf
    leaves; lean leant; leap leapt; learn learnt; leave left; lend lent; life lives; light lit; lose lost; loss
    losses; make made; man men; matrix matrices; mean meant; meet met; mouse mice; pay paid; person people;
    phenomenon phenomena; quiz quizzes; ride rode ridden; ring rang rung; rise rose risen; run ran; say said; see
    saw seen; seek sought; sell sold; send sent; sew sewn; shake shook shaken; shelf shelves; shine shone; shoot
    shot; show shown; shrink shrank shrunk; sing sang sung; sink sank sunk; sit sat; sleep slept; slide slid; smell
    smelt; sow sown; speak spoke spoken; speed sped; spell spelt; spend spent; spill spilt; spin spun; spoil spoilt;
    spring sprang sprung; stand stood; steal stole stolen; stick stuck; sting stung; strike struck; strive strove;
    swear swore sworn; sweep swept; swell swollen; swim swam swum; swing swung; take took taken; teach taught; tear
    tore torn; tell told; thesis theses; think thought; thief thieves; throw threw thrown; tooth teeth; tread trod;
    understand understood; undo undid undone; vertex vertices; wake woke woken; wear wore worn; weave wove woven;
    weep wept; wife wives; win won; wind wound; wolf wolves; woman women; wring wrung; write wrote written; rewrite
    rewrote rewritten; overcome overcame; withdraw withdrew withdrawn; rebuild rebuilt; arrive arrival; choice
    choices; analysis analyses; die dying dead death; lie lying; tie tying
"""

# Short forms, and a few pairs of words that people use for each other.
_SHORT: Final = """
    mother mom mum mommy mummy; father dad daddy; grandmother grandma granny; grandfather grandpa; child kid kiddo;
    picture pic photo photograph; television tv; bicycle bike; telephone phone; refrigerator fridge; vacation
    holiday; favorite favourite fave; color colour; gray grey; theater theatre; center centre; program programme;
    neighbor neighbour; repository repo; database db; documentation docs doc; configuration config; authentication
    auth; environment env; application app; administrator admin; kubernetes k8s; javascript js; typescript ts;
    postgresql postgres; 1 first; 2 two second twice; 3 three third; 4 four fourth; 5 five fifth; 6 six sixth; 7
    seven seventh; 8 eight eighth; 9 nine ninth; 10 ten tenth; 12 twelve; 20 twenty
"""


def _base_of_form(table: str) -> dict[str, str]:
    rows = (row.split() for row in table.split(";"))
    return {form: base for base, *forms in rows for form in forms}


BASES: Final = _base_of_form(_IRREGULAR) | _base_of_form(_SHORT)

# A memory that holds one of these says when something happened, or how many or how long.
TIMES: Final = frozenset(
    """
    today tonight yesterday tomorrow last next ago week weeks weekend month months year years day days morning evening
    monday tuesday wednesday thursday friday saturday sunday january february march april may june july august september
    october november december recently spring summer autumn fall winter
    """.split()
)
COUNTS: Final = frozenset(
    "one two three four five six seven eight nine ten dozen hundred thousand once twice few couple several".split()
)


# --- Texts to terms --------------------------------------------------------------------------------------------------


# Scripts that put no space between words: Thai to Myanmar, Khmer, kana, Han, Hangul.
_DENSE: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
# Vowel signs of Indic scripts are not letters for `re`, but they do not end a word.
_SIGNS: Final = "\u0900-\u0963\u0966-\u0dff"
_LETTER: Final = rf"(?:[^\W_]|[{_SIGNS}])"
_ASCII_WORD: Final = re.compile("[a-z0-9]+(?:'[a-z]+)?")
# Texts: `re` compiles each on first need, and keeps it.
_DENSE_RUN: Final = f"([{_DENSE}]+)"
_WORD: Final = rf"{_LETTER}+(?:'{_LETTER}+)?"
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
    """The first word of a text, folded, where it may be a name: it has a capital and is not a stop word; else empty.

    With `SPEAKER_MARK` after it if a colon follows it.
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
    for number, part in enumerate(re.split(_DENSE_RUN, unicodedata.normalize("NFKC", text).casefold())):
        if number % 2:
            words += [part[at : at + 2] for at in range(len(part) - 1)] or [part]
        else:
            words += [_without_clitic(_without_accents(word)) for word in re.findall(_WORD, part)]
    return words


def is_dense(word: str) -> bool:
    """Whether a word is of a script without spaces: a character, or a pair of them."""
    return word >= "\u0e00" and re.match(_DENSE_RUN, word) is not None


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


# --- The index -------------------------------------------------------------------------------------------------------


# Greatest distance of neighbours, and number of zeros after the column of sections.
PADDING: Final = 3

# Flags of an entry: it ends in a question, names a time, names a number.
QUESTION: Final = 1
TIMED: Final = 2
COUNTED: Final = 4

MOST_CACHED: Final = 2000
"""Entries of an index that is cached for the next build of the process."""

_DIGIT: Final = re.compile(r"\d")


class IndexEntry(NamedTuple):
    """A text as a search sees it, such as a memory or a section of a page."""

    text: str
    section: str = ""
    """Name of its neighbourhood, such as file and day; empty for an entry without neighbours."""
    day: str = ""
    author: str = ""
    """Name that it begins with (`analyzer.leading_name`); empty for none."""
    kernel: float = 1.0
    """Weight of its neighbours' matches: 1.0 in a daily log, where order is a story, 0.5 in a memory file."""
    labels: str = ""
    """Words besides the text by which it is found, such as its tags."""


class IndexColumns(NamedTuple):
    """Facts of each row besides its terms; a row that holds no entry has zeros."""

    lengths: Sequence[int]
    sections: Sequence[int]
    """Numbers from 1, followed by `PADDING` zeros."""
    days: Sequence[int]
    """As YYYYMMDD; 0 for none."""
    authors: Sequence[int]
    """Places in the list of names."""
    flags: Sequence[int]
    kernels: Sequence[int]
    """In hundredths."""


class Index(NamedTuple):
    """An inverted index, in memory or in a file."""

    size: int
    """Number of entries."""
    average: float
    """Mean length of the entries."""
    columns: IndexColumns
    """Facts of each row besides its terms."""
    authors: Sequence[str]
    """Names that the column of authors points to."""
    postings: Callable[[str], tuple[Sequence[int], Sequence[int]]]
    """Gives the rows that hold a term, and its number in each of them."""
    beginning: Callable[[str], Sequence[str]]
    """Gives the terms that begin with a prefix, in order; all for an empty one. It may be that no row holds one."""
    length_penalty: float = LENGTH_PENALTY
    """Penalty of a long text, from 0 to 1."""


def day_number(day: str) -> int:
    """Number of a day: 20250310 for `2025-03-10`; 0 for no day."""
    digits = day[:10].replace("-", "")
    return int(digits) if len(digits) == 8 and digits.isdecimal() else 0


def build_index(entries: Sequence[IndexEntry], length_penalty: float = LENGTH_PENALTY) -> Index:
    """Index entries in memory; their positions are the row numbers. Equal entries share one, which nobody changes."""
    index = _cached_index(tuple(entries)) if len(entries) <= MOST_CACHED else _new_index(entries)
    return index._replace(length_penalty=length_penalty)


def _new_index(entries: Sequence[IndexEntry]) -> Index:
    postings_of: dict[str, tuple[list[int], list[int]]] = {}
    columns: list[list[int]] = [[] for _ in IndexColumns._fields]
    places: dict[str, int] = {}
    section_of: dict[str, int] = {}
    for row, entry in enumerate(entries):
        author = places.setdefault(entry.author, len(places))
        values, words = entry_facts(entry, row, section_of, author)
        for column, value in zip(columns, values, strict=True):
            column.append(value)
        for name, count in Counter(map(term, words)).items():
            rows, row_counts = postings_of.setdefault(name, ([], []))
            rows.append(row)
            row_counts.append(count)
    facts = IndexColumns(*columns)
    average = sum(facts.lengths) / max(1, len(entries))
    facts = facts._replace(sections=[*facts.sections, *[0] * PADDING])
    vocabulary = sorted(postings_of)

    def postings(name: str) -> tuple[Sequence[int], Sequence[int]]:
        return postings_of.get(name, ((), ()))

    def beginning(prefix: str) -> Sequence[str]:
        return vocabulary[bisect_left(vocabulary, prefix) : bisect_left(vocabulary, f"{prefix}\U0010ffff")]

    return Index(len(entries), average, facts, [*places], postings, beginning)


_cached_index = lru_cache(maxsize=8)(_new_index)


def entry_facts(
    entry: IndexEntry, row: int, section_of: dict[str, int], author: int
) -> tuple[tuple[int, ...], list[str]]:
    """The values of an entry for `IndexColumns`, and the words by which it is found; `term` gives the term of each.

    `section_of` has the number of each section so far, and gets a new one; `author` is the place of the entry's name.

    The length of a text is that of its words. Stop words have no part in it, except where the text holds nothing else.
    Words of labels have none either, and count only if the text lacks them.
    """
    text = entry.text
    words = analyze(text)
    topical = len(words) - sum(map(STOP.__contains__, words))
    flag = QUESTION if text.rstrip(" )]*_\"'”’").endswith(("?", "？")) else 0
    if not TIMES.isdisjoint(words):
        flag |= TIMED
    if not COUNTS.isdisjoint(words) or _DIGIT.search(text):
        flag |= COUNTED
    length = topical or len(words)
    section = section_of.setdefault(entry.section, row + 1) if entry.section else row + 1
    if entry.labels:
        known = {*map(term, words)}
        labels = {term(word): word for word in analyze(entry.labels) if word not in STOP}
        words = [*words, *(word for name, word in labels.items() if name not in known)]
    return (length, section, day_number(entry.day), author, flag, round(100 * entry.kernel)), words
