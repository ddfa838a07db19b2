"""Hidden characters: a model reads them, and a person does not see them, with the message that they spell.

Finding, decoding and removing only: no severity. Characters that a script or an emoji needs stay, and are not reported.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import permutations

from contextasm.model import Hidden


def strip_hidden(text: str, *, only_controls: bool = False) -> tuple[str, tuple[Hidden, ...]]:
    """A text with LF line ends, without its hidden characters, and the runs of them in the order of the text.

    A control character becomes a space and any other one nothing, again and again until nothing changes. Runs of kind
    `blank` are reported and stay. Lines keep their numbers; the columns are of `text`. With `only_controls`, the
    other kinds are neither removed nor reported.
    """
    characters = _CONTROL if only_controls else _UNSEEN
    # Most texts hold nothing but plain bytes, or few others: to delete these is much faster than a search.
    rest = text.encode("utf-8", "surrogatepass").translate(None, _PLAIN_BYTES)
    if not rest or not re.search(characters, rest.decode("utf-8", "surrogatepass")):
        return text, ()
    unseen = re.compile(characters)
    found: list[Hidden] = []
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        if unseen.search(line):
            lines[number - 1], hidden = _strip_line(line, number, only_controls=only_controls)
            found += hidden
    return "\n".join(lines), tuple(found)


def _strip_line(line: str, number: int, *, only_controls: bool) -> tuple[str, Sequence[Hidden]]:
    columns: Sequence[int] = range(1, len(line) + 1)
    blanks: list[Hidden] = []
    removed: list[Hidden] = []
    while True:
        runs = [run for run in _unexcused_runs(line) if run[0] == "control" or not only_controls]
        blanks = [
            _hidden_run(kind, number, columns[start], line[start:end]) for kind, start, end in runs if kind == "blank"
        ]
        runs = [run for run in runs if run[0] != "blank"]
        if not runs:
            return line, sorted([*removed, *blanks], key=lambda hidden: hidden.column)
        pieces: list[str] = []
        kept: list[int] = []
        at = 0
        for kind, start, end in runs:
            removed.append(_hidden_run(kind, number, columns[start], line[start:end]))
            pieces += line[at:start], " " * (end - start) if kind == "control" else ""
            kept += columns[at : end if kind == "control" else start]
            at = end
        line, columns = "".join([*pieces, line[at:]]), [*kept, *columns[at:]]


def _hidden_run(kind: str, line: int, column: int, run: str) -> Hidden:
    message = _DECODERS[kind](run) if kind in _DECODERS else ""
    return Hidden(kind, line, column, len(run), message, _code_points(run))


def _unexcused_runs(text: str) -> Iterator[tuple[str, int, int]]:
    """Kind, start and end of each run."""
    unseen = re.compile(_CONTROL if text.isascii() else _UNSEEN)
    at = 0
    while first := unseen.search(text, at):
        start = first.start()
        kind, at = next((kind, run.end()) for kind, row in _RUNS.items() if (run := re.compile(row).match(text, start)))
        if not _is_useful(kind, text, start, at):
            # So many blanks spell something; fewer are reported, and stay.
            yield "zero-width" if kind == "blank" and at - start > _MAX_BLANKS else kind, start, at


def _code_points(run: str) -> str:
    # Of the first few different characters: a run may be as long as the file.
    shown = list(dict.fromkeys(run[:64]))
    names = [f"U+{ord(character):04X}" for character in shown[:4]]
    return " ".join([*names, "..."] if len(shown) > len(names) else names)


# --- Legitimate uses -------------------------------------------------------------------------------------------------

_EMOJI = r"\u2190-\u21FF\u2300-\u23FF\u2600-\u27BF\u2B00-\u2BFF\U0001F000-\U0001FAFF"

_JOINING = (
    r"\u0590-\u08FF"  # Hebrew, Arabic, Syriac, Thaana, N'Ko, Mandaic
    r"\u0900-\u0DFF"  # the scripts of India and Sri Lanka
    r"\u0E00-\u109F\u1780-\u18AF\u1900-\u1CFF"  # Thai to Myanmar, Khmer, Mongolian, Limbu to Vedic
    r"\uA800-\uABFF\uFB1D-\uFDFF\uFE70-\uFEFC"  # later additions, Hebrew and Arabic presentation forms
    r"\U00010A00-\U00011FFF\U0001E900-\U0001E95F"  # Kharoshthi to Tamil, Adlam
)
"""Scripts in which a joiner or a non-joiner changes the shape of a letter."""

_SPACELESS = r"\u0E00-\u109F\u1780-\u17FF\u1950-\u1AAF"
"""Scripts of South East Asia, in which a space of no width sets words apart."""

_IDEOGRAPH = r"\u3400-\u9FFF\uF900-\uFAFF\U00020000-\U0003FFFD"

_HANGUL = r"\u1100-\u11FF\u3130-\u318F\uA960-\uA97F\uAC00-\uD7FF\uFFA0-\uFFDC"

# Patterns are texts here: `re` compiles each on first need, and keeps it. To compile them all takes 8 ms.

_MAX_BLANKS = 7
"""Blanks in a row that can be an accident, or a syllable block of Korean."""

_RIGHT_TO_LEFT = r"\u0590-\u08FF\uFB1D-\uFDFF\uFE70-\uFEFC\U00010800-\U00010FFF\U0001E800-\U0001EFFF"

_MARK_REACH = 100
"""Characters, before or after it, in which a mark of direction has a letter written from right to left."""

_USEFUL_CHARACTER = "|".join(
    (
        rf"(?<=[{_EMOJI}\uFE0F\u20E3])\u200D(?=[{_EMOJI}])",
        rf"(?<=[{_JOINING}])[\u200C\u200D]|[\u200C\u200D](?=[{_JOINING}])",
        rf"(?<=[{_SPACELESS}])\u200B(?=[{_SPACELESS}])",
        r"(?<=[\u1800-\u18AF])[\u180B-\u180D\u180F]?\u180E",  # Mongolian sets a final vowel off with it
        r"(?<=[\u1800-\u18AF])[\u180B-\u180D\u180F]",  # and has letters of several forms
        r"(?<=[\u1780-\u17FF])[\u17B4\u17B5]",  # the vowels of Khmer that nobody writes
        r"(?<=[\U0001BC00-\U0001BC9F])[\U0001BCA0-\U0001BCA3]",  # overlaps and steps of shorthand
        r"(?<=[^\x00-\x7F])\u034F|\u034F(?=[\u0300-\u036F])",  # accents and points that keep their order
        r"\u00AD",  # one place where a word may be hyphenated
    )
)

_SIGNS_OF_TWO_FORMS = (
    r"\u00A9\u00AE\u203C\u2049\u2122\u2139\u24C2\u25AA\u25AB\u25B6\u25C0\u25FB-\u25FE\u2934\u2935"
    r"\u3030\u303D\u3297\u3299"
)
"""The signs that Unicode lists with a form of text and one of an emoji, but for the signs of `_EMOJI`."""

_USEFUL_SELECTOR = "|".join(
    (
        # The form of an emoji, of a sign that has both forms, and of a key such as 1 in a box.
        rf"(?<=[{_EMOJI}{_SIGNS_OF_TWO_FORMS}])[\uFE0E\uFE0F]",
        r"(?<=[0-9#*])[\uFE0E\uFE0F]",
        # The form of an ideograph, of punctuation next to it, of a sign of mathematics, of some letters of Asia.
        rf"(?<=[{_IDEOGRAPH}])[\uFE00-\uFE02\U000E0100-\U000E01EF]",
        r"(?<=[\u2200-\u22FF\u2A00-\u2AFF\u3001\u3002\uFF01\uFF0C\uFF0E\uFF1A\uFF1B\uFF1F])[\uFE00\uFE01]",
        r"(?<=[\u1000-\u109F\uA840-\uA87F\uAA60-\uAA7F])\uFE00",
    )
)

_FLAG = r"(?<=\U0001F3F4)[\U000E0030-\U000E0039\U000E0061-\U000E007A]{2,6}\U000E007F"
"""The code of a region after a black flag. Anything longer is not a flag, with any beginning."""

_FILLERS = r"\u115F\u1160\u3164\uFFA0"

_USEFUL_BLANK = (
    rf"(?<=[{_HANGUL}])[{_FILLERS}]{{1,{_MAX_BLANKS}}}(?![{_FILLERS}])"
    rf"|[{_FILLERS}]{{1,{_MAX_BLANKS}}}(?![{_FILLERS}])(?=[{_HANGUL}])"
    r"|\u2800+(?=[\u2801-\u28FF])|(?<=[\u2801-\u28FF])\u2800+"
)
"""Fillers next to Korean letters, and the empty cell next to Braille."""


def _is_useful(kind: str, text: str, start: int, end: int) -> bool:
    """Whether a run of a text has a legitimate use: all of it is what its kind may be for, or a mark of direction."""
    match = re.compile(_USEFUL[kind]).match(text, start) if kind in _USEFUL else None
    return (match is not None and match.end() == end) or (end - start == 1 and _is_useful_mark(text, start))


def _is_useful_mark(text: str, at: int) -> bool:
    """Whether a mark of direction is near letters from right to left, and not inside a word of ASCII letters."""
    if text[at] not in _MARKS or re.compile("[A-Za-z]{2}").fullmatch(text[at - 1 : at] + text[at + 1 : at + 2]):
        return False
    near = text[max(0, at - _MARK_REACH) : at] + text[at + 1 : at + 1 + _MARK_REACH]
    return bool(re.search(f"[{_RIGHT_TO_LEFT}]", near))


_MARKS = "\u061c\u200e\u200f"


_USEFUL = {
    "tag": _FLAG,
    "zero-width": _USEFUL_CHARACTER,
    "variation": _USEFUL_SELECTOR,
    "blank": _USEFUL_BLANK,
}
"""Patterns of the legitimate uses of a kind of run; the other kinds have none."""


# --- Decoding --------------------------------------------------------------------------------------------------------


def _decode_tags(run: str) -> str:
    # Tag characters mirror ASCII; those without a visible twin are left out.
    return "".join(chr(ord(tag) - 0xE0000) for tag in run if 0xE0020 <= ord(tag) <= 0xE007E)


def _decode_variation_selectors(run: str) -> str:
    """The bytes that 256 variation selectors encode: as text if they are UTF-8, else in hexadecimal."""
    data = bytes(ord(selector) - (0xFE00 if selector <= "\ufe0f" else 0xE0100 - 16) for selector in run)
    try:
        return _printable(data.decode("utf-8"))
    except UnicodeDecodeError:
        return data.hex(" ")


def _decode_bits(run: str) -> str:
    """The ASCII text that two characters spell as noughts and ones: eight make a letter, or a third one ends it.

    A letter begins with a nought in eight bits and with a one in fewer, so which is which can't be mistaken.
    """
    signs = sorted(set(run))
    if len(signs) not in {2, 3}:
        return ""
    for order in permutations(signs):
        bits = run.translate(dict(zip(map(ord, order), "01 ", strict=False)))
        letters = [word[at : at + 8] for word in bits.split() for at in range(0, len(word), 8)]
        # A single letter comes about by chance.
        if len(letters) > 1 and all(re.fullmatch(_LETTER, letter) for letter in letters):
            message = "".join(chr(int(letter, 2)) for letter in letters)
            if message.strip() and message.replace("\n", "").replace("\t", "").isprintable():
                return _printable(message)
    return ""


_LETTER = "0[01]{7}|1[01]{5,6}"


def _printable(message: str) -> str:
    # A payload is shown on a terminal, which must not obey it.
    return "".join(character if character.isprintable() else "\ufffd" for character in message)


# --- The table -------------------------------------------------------------------------------------------------------


# Of the zero-width ones, U+2061 to U+2064 are the invisible operators of formulas and U+206A to U+206F long withdrawn:
# prose has no use for either, and hidden instructions have been spelled with the former. Lone halves of a character
# outside the first plane can come from the escapes of JSON and YAML, and no output can hold them.
_CHARACTERS = {
    "tag": r"\U000E0000-\U000E00FF\U000E01F0-\U000E0FFF",
    "bidi": r"\u202A-\u202E\u2066-\u2069",
    "zero-width": (
        r"\u00AD\u034F\u061C\u17B4\u17B5\u180B-\u180F\u200B-\u200F\u2060-\u2065\u206A-\u206F\uFEFF\uFFF0-\uFFFB"
        r"\U0001BCA0-\U0001BCA3\U0001D173-\U0001D17A"
    ),
    "variation": r"\uFE00-\uFE0F\U000E0100-\U000E01EF",
    "control": r"\x00-\x08\x0B-\x1F\x7F-\x9F\u2028\u2029\uD800-\uDFFF",
    "blank": rf"{_FILLERS}\u2800",
}
"""The characters of each kind of run."""

_DECODERS = {"tag": _decode_tags, "zero-width": _decode_bits, "variation": _decode_variation_selectors}
"""The message that a run spells; other kinds spell none."""

# One character at a time, without a repeat: that is the form which `re` searches for fastest.
_UNSEEN = f"[{''.join(_CHARACTERS.values())}]"
_CONTROL = f"[{_CHARACTERS['control']}]"
_RUNS = {kind: f"[{characters}]+" for kind, characters in _CHARACTERS.items()}

_PLAIN_BYTES = b"\t\n" + bytes(range(0x20, 0x7F))
"""Bytes of UTF-8 that are not part of a hidden character."""
