"""Token counters: an estimate by script and length, and exact counts with OpenAI's published tables.

Nothing here opens a file, a socket or the environment: the tables and the remembered counts come in as
values. `tiktoken` is imported in one function, and only once a text has to be counted that nobody remembers.
"""

import re
from collections.abc import Callable, Iterator
from functools import cache

from contextasm.model import Cache, ContextasmError, NamedTuple, TokenCounter


def _utf16_units(text: str) -> int:
    """A character outside the basic plane is two units, as in JavaScript's `length`."""
    if text.isascii():
        return len(text)
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _utf8_bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


_UNITS = 20
"""Units of a token of the estimate: all weights of scripts are whole numbers of them."""

_LATIN = 5
"""Units of a character of Latin or Cyrillic, of an ASCII one, and of all that no row below names."""

_SCRIPTS = (
    ((0x06, 0x0B), 8),  # Arabic, Devanagari, Bengali, Tamil
    ((0x03, 0x03), 9),  # Greek
    ((0x05, 0x05), 9),  # Hebrew, Armenian
    ((0x0E, 0x0E), 10),  # Thai
    ((0x10, 0x10), 10),  # Georgian, Burmese
    ((0x0C, 0x0D), 11),  # Telugu, Kannada, Malayalam, Sinhala
    ((0x17, 0x17), 15),  # Khmer
    ((0xAC, 0xD7), 15),  # Hangul
    ((0x2E, 0x9F), 20),  # Han and Kana with their punctuation
    ((0xF9, 0xFF), 20),  # compatible and full-width forms of these
    ((0x12, 0x13), 40),  # Ethiopic
)
"""First and last block of 256 characters of a script, and the units of each of its characters.

Measured on prose with o200k_base; `tests/selection/test_estimate.py` holds the estimate against it.
"""

_WEIGHTS = bytes(
    next((weight for (first, last), weight in _SCRIPTS if first <= block <= last), _LATIN) for block in range(256)
)

_HIGH_BYTE = "\u0100".encode("utf-16").index(b"\x01")
"""Place of the first high byte after the byte order mark. In `utf-16-be` it is known, but Python imports a module."""

_OTHER_WEIGHTS: set[int] = {*_WEIGHTS} - {_LATIN}


def _weighted(text: str) -> int:
    if text.isascii():
        return _LATIN * len(text)
    # The high byte of a UTF-16 unit is the block of its character, or half a pair of surrogates.
    weights = text.encode("utf-16", "surrogatepass")[_HIGH_BYTE::2].translate(_WEIGHTS)
    # Most characters are Latin: to count the others takes less time than to add all up.
    return _LATIN * len(weights) + sum((weight - _LATIN) * weights.count(weight) for weight in _OTHER_WEIGHTS)


ESTIMATE = TokenCounter("estimate", _UNITS, _weighted)
"""Tokens by script: a quarter of a token for each UTF-16 unit of Latin text, and more for scripts that take more."""

CHARS_ESTIMATE = TokenCounter("chars/4", 4, _utf16_units)
"""`ceil(n/4)`, n in UTF-16 code units: the room of hosts that limit characters. Cannot be asked for by name."""

BYTES_ESTIMATE = TokenCounter("bytes/4", 4, _utf8_bytes)
"""`ceil(n/4)`, n in bytes of UTF-8: the room of hosts that limit bytes. Cannot be asked for by name."""

ROOMS = {counter.name: counter for counter in (CHARS_ESTIMATE, BYTES_ESTIMATE)}

LENGTHS = {"chars": TokenCounter("chars", 1, _utf16_units), "bytes": TokenCounter("bytes", 1, _utf8_bytes)}
"""Counters of lengths instead of tokens, by name; they add up over the parts of a text."""


class Encoding(NamedTuple):
    """Definition of an exact count, apart from the table itself."""

    pattern: str
    """Matches the pieces of a text that no token crosses; from `tiktoken`."""
    sha256: str
    """SHA-256 of the table as published."""
    packed: str
    """SHA-256 of the table as shipped in this package."""


ENCODINGS = {
    "cl100k_base": Encoding(
        pattern=(
            r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
            r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
        ),
        sha256="223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
        packed="b81fbf144ceea1eefe9320d9002c380ea0a2a4bf6038076488126ed39afbde1b",
    ),
    "o200k_base": Encoding(
        pattern=(
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
            r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
            r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
        ),
        sha256="446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
        packed="43f7a300f958989a871f8e9d3800e118295cb420cdf105ebd1428f2195d8d2db",
    ),
}

TOKENIZERS = {
    "estimate": "by script: a quarter of the length for Latin text, more for others; needs no table",
    "chars": "no tokens: the length in UTF-16 code units, as in JavaScript",
    "bytes": "no tokens: the length in bytes of UTF-8",
    "cl100k_base": "exact for GPT-4, GPT-3.5 and the text-embedding-3 models",
    "o200k_base": "exact for GPT-4o, GPT-4.1, the o-series and GPT-5",
}
"""Name of every counter, with the models that it counts for."""

_BLOCK = 1 << 20
"""Characters up to which a text is encoded in one call: the list of its tokens takes some 10 MB."""

_SAFE_CUT = r"(?<=[^\W_])[ \n]"
"""White space after a letter or digit: no alternative of either pattern goes on across it, nor looks back."""

_SPACES = r"\s+(?!\S)"
_SPACES_ANY_LENGTH = r"(?:\s{256}(?=\s))++(?:\s+(?!\S))?|\s+(?!\S)"
"""Matches what `_SPACES` does, but takes 256 at a time and never goes back over them.

The matcher notes each step that it might go back to, and gives up at a million: on a megabyte of spaces
tiktoken raises, and its older versions panic, which no `except Exception` catches.
"""


def exact_counter(name: str, table: Callable[[], bytes], counts: Cache) -> TokenCounter:
    """The counter of an encoding. `table` gives its packed table; it is called only for a text that `counts` lacks."""
    encoder = cache(lambda: _encoder(name, table()))

    def units(text: str) -> int:
        if not text:
            return 0
        if (stored := counts.get(text)) is not None:
            return int(stored)
        encode = encoder()
        count = sum(encode(block) for block in _blocks(text))
        counts.put(text, b"%d" % count)
        return count

    return TokenCounter(name, 1, units, adds_up=False)


def unpack(packed: bytes) -> dict[bytes, int]:
    """Every token with its rank, from the form that `tools/pack_tables.py` writes."""
    import zlib

    data = zlib.decompress(packed)
    ranks: dict[bytes, int] = {}
    end = 4
    for rank in range(int.from_bytes(data[:4], "big")):
        start = end + 1
        end = start + data[end]
        ranks[data[start:end]] = rank
    return ranks


def _encoder(name: str, packed: bytes) -> Callable[[str], int]:
    try:
        import tiktoken
    except ImportError as error:
        raise ContextasmError(
            f"tokenizer {name}",
            f"tiktoken can't be imported ({error})",
            "install tiktoken, or use --tokenizer estimate",
        ) from error
    pattern = ENCODINGS[name].pattern.replace(_SPACES, _SPACES_ANY_LENGTH)
    encoding = tiktoken.Encoding(name, pat_str=pattern, mergeable_ranks=unpack(packed), special_tokens={})
    # Not `encode_ordinary`: where the matcher gives up, that one panics, and this one raises a ValueError.
    return lambda text: len(encoding.encode(text, disallowed_special=()))


def _blocks(text: str) -> Iterator[str]:
    """The text in parts whose tokens add up to its own; whole where it is short or offers no safe cut."""
    start = 0
    safe_cut = re.compile(_SAFE_CUT)
    while len(text) - start > _BLOCK and (cut := safe_cut.search(text, start + _BLOCK)):
        yield text[start : cut.start()]
        start = cut.start()
    yield text[start:]
