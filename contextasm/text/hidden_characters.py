"""Hidden characters: those that a model reads and a person does not see, with the message that they spell.

Finding and decoding only: no severity, and no character is taken out. Characters that a script or an emoji needs are
not reported.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import permutations
from typing import NamedTuple


class Hidden(NamedTuple):
    """One unbroken run of unseen characters of one kind."""

    kind: str
    """`tag`, `bidi`, `zero-width`, `variation` or `control`."""
    line: int
    column: int
    """Counted from 1, in code points."""
    length: int
    """Code points in the run."""
    payload: str
    """The message of the run, in printable characters, of any length; empty where it can't be decoded."""
    codes: str
    """The first few different characters of the run, as `U+202E U+2066`."""


def find_hidden(text: str) -> Iterator[Hidden]:
    """The runs of hidden characters, in the order of the text."""
    line, begin, at = 1, 0, 0
    for kind, start, end in _unexcused_runs(text):
        # Counting goes on from the run before, so one very long line with many runs costs no more than many lines.
        if breaks := text.count("\n", at, start):
            line += breaks
            begin = text.rindex("\n", at, start) + 1
        at = start
        run = text[start:end]
        yield Hidden(kind, line, start - begin + 1, len(run), _KINDS[kind].decode(run), _code_points(run))


def _unexcused_runs(text: str) -> Iterator[tuple[str, int, int]]:
    """Kind, start and end of each run."""
    unseen = _CONTROL if text.isascii() else _UNSEEN
    at = 0
    while first := unseen.search(text, at):
        start = first.start()
        kind, at = next((kind, run.end()) for kind, row in _RUNS.items() if (run := row.match(text, start)))
        if not _KINDS[kind].is_excused(text, start, at):
            yield kind, start, at


def _code_points(run: str) -> str:
    # Of the first few different characters: a run may be as long as the file.
    shown = list(dict.fromkeys(run[:64]))
    names = [f"U+{ord(character):04X}" for character in shown[:4]]
    return " ".join([*names, "..."] if len(shown) > len(names) else names)


# --- Legitimate uses -------------------------------------------------------------------------------------------------

_EMOJI = r"\u2190-\u21FF\u2300-\u23FF\u2600-\u27BF\u2B00-\u2BFF\U0001F000-\U0001FAFF"

_JOINING = (
    r"\u0600-\u08FF"  # Arabic, Syriac, Thaana, N'Ko, Mandaic
    r"\u0900-\u0DFF"  # the scripts of India and Sri Lanka
    r"\u0E00-\u109F\u1780-\u18AF\u1900-\u1CFF"  # Thai to Myanmar, Khmer, Mongolian, Limbu to Vedic
    r"\uA800-\uABFF\uFB50-\uFDFF\uFE70-\uFEFC"  # later additions, Arabic presentation forms
    r"\U00010A00-\U00011FFF\U0001E900-\U0001E95F"  # Kharoshthi to Tamil, Adlam
)
"""Scripts in which a joiner or a non-joiner changes the shape of a letter."""

_SPACELESS = r"\u0E00-\u109F\u1780-\u17FF\u1950-\u1AAF\u3000-\u30FF\u3400-\u9FFF\uF900-\uFAFF\uFF00-\uFFEF"
"""Scripts written without spaces, where one of no width says that a line may break or an emphasis may begin."""

_USEFUL_CHARACTER = re.compile(
    "|".join(
        (
            r"\u00AD",  # where a word may be hyphenated
            r"\A\uFEFF",  # the byte order mark
            rf"(?<=[{_EMOJI}\uFE0F\u20E3])\u200D(?=[{_EMOJI}])",
            rf"(?<=[{_JOINING}])[\u200C\u200D]|[\u200C\u200D](?=[{_JOINING}])",
            rf"(?<=[{_SPACELESS}])\u200B|\u200B(?=[{_SPACELESS}])",
            r"(?<=[\u1800-\u18AF])\u180E",  # Mongolian sets a final vowel off with it
        )
    )
)

_FLAG = re.compile(r"(?<=\U0001F3F4)[\U000E0030-\U000E0039\U000E0061-\U000E007A]{3,6}\U000E007F")
"""The code of a region after a black flag. Anything longer is no flag, whatever it begins with."""


def _spells_flag(text: str, start: int, end: int) -> bool:
    return bool(_FLAG.fullmatch(text, start, end))


def _is_one_useful_character(text: str, start: int, end: int) -> bool:
    return end - start == 1 and bool(_USEFUL_CHARACTER.match(text, start))


def _is_one_character(_: str, start: int, end: int) -> bool:
    # One variation selector picks the form of the letter before it.
    return end - start == 1


def _is_never_excused(_text: str, _start: int, _end: int) -> bool:
    return False


# --- Decoding --------------------------------------------------------------------------------------------------------


def _decode_tags(run: str) -> str:
    # Tag characters mirror ASCII; those without a visible twin are left out.
    return "".join(chr(ord(tag) - 0xE0000) for tag in run if 0xE0020 <= ord(tag) <= 0xE007E)


def _decode_variation_selectors(run: str) -> str:
    """The bytes that 256 variation selectors stand for: as text where they are UTF-8, else in hexadecimal."""
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
        # One letter alone comes about by chance.
        if len(letters) > 1 and all(_LETTER.fullmatch(letter) for letter in letters):
            message = "".join(chr(int(letter, 2)) for letter in letters)
            if message.strip() and message.replace("\n", "").replace("\t", "").isprintable():
                return _printable(message)
    return ""


_LETTER = re.compile("0[01]{7}|1[01]{5,6}")


def _printable(message: str) -> str:
    # A payload is shown on a terminal, which must not obey it.
    return "".join(character if character.isprintable() else "\ufffd" for character in message)


def _no_message(_: str) -> str:
    return ""


# --- The table -------------------------------------------------------------------------------------------------------


class _Kind(NamedTuple):
    """Characters that make a run, whether a run has a legitimate use, and the message that it spells."""

    characters: str
    is_excused: Callable[[str, int, int], bool]
    decode: Callable[[str], str]


# Of the zero-width ones, U+2061 to U+2064 are the invisible operators of formulas and U+206A to U+206F long withdrawn:
# prose has no use for either, and hidden instructions have been spelled with the former.
_KINDS = {
    "tag": _Kind(r"\U000E0000-\U000E007F", _spells_flag, _decode_tags),
    "bidi": _Kind(r"\u202A-\u202E\u2066-\u2069", _is_never_excused, _no_message),
    "zero-width": _Kind(
        r"\u00AD\u180E\u200B-\u200D\u2060-\u2064\u206A-\u206F\uFEFF", _is_one_useful_character, _decode_bits
    ),
    "variation": _Kind(r"\uFE00-\uFE0F\U000E0100-\U000E01EF", _is_one_character, _decode_variation_selectors),
    "control": _Kind(
        r"\x00-\x08\x0B-\x1F\x7F-\x9F", lambda text, start, end: text[start : end + 1] == "\r\n", _no_message
    ),
}

# One character at a time, without a repeat: that is the form which `re` searches for fastest.
_UNSEEN = re.compile(f"[{''.join(kind.characters for kind in _KINDS.values())}]")
_CONTROL = re.compile(r"[\x00-\x08\x0B-\x1F\x7F]")
_RUNS = {name: re.compile(f"[{kind.characters}]+") for name, kind in _KINDS.items()}
