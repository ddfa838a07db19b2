"""Keys, tokens and passwords in a text, recognized by their shape, and the text without them.

Nobody is asked whether a key works. A secret is never handed on: a result holds the kind, the place, the public prefix
and the length. A line that ends in the comment `ctxasm: allow-secret` keeps its secrets, and they are not reported.
"""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from contextasm.model import Hidden, NamedTuple, Secret, Span
from contextasm.text.cleaning.secrets import shapes
from contextasm.text.cleaning.secrets.shapes import SecretSpan, Shape, token_pattern

_MASK = r"\[masked:([a-z0-9-]+)\]"


def count_masks(text: str) -> dict[str, int]:
    """The number of masks in a text by kind of secret, in the order of kinds; empty for none."""
    if "[masked:" not in text:
        return {}
    return dict(sorted(Counter(re.findall(_MASK, text)).items()))


class CleanText(NamedTuple):
    """A text after cleaning, with what was taken out. It has as many lines as before."""

    text: str
    """With LF line ends."""
    hidden: tuple[Hidden, ...] = ()
    secrets: tuple[Secret, ...] = ()
    """In the order of the text, with their places in the text before they were masked."""
    gaps: tuple[Span, ...] = ()
    """First and last line, counted from 1, of lines that are empty now since a secret of several lines was there."""


def find_secrets(text: str) -> Iterator[Secret]:
    """The secrets in the order of the text, placeholders included."""
    return _located(text, _all_spans(text))


def mask_secrets(text: str) -> CleanText:
    """The text with `[masked:KIND]` in place of each secret; the same object without one.

    A secret of several lines has its mask in its first line, and its other lines become empty. To mask a masked text
    changes nothing.
    """
    spans = _all_spans(text)
    if not spans:
        return CleanText(text)
    secrets = tuple(_located(text, spans))
    return CleanText(_masked_text(text, spans), secrets=secrets, gaps=tuple(_gaps(text, spans, secrets)))


def _located(text: str, spans: Sequence[SecretSpan]) -> Iterator[Secret]:
    line, begin, at = 1, 0, 0
    for span in spans:
        # A line may be as long as the file and full of secrets: each part of it is read once.
        if breaks := text.count("\n", at, span.start):
            line += breaks
            begin = text.rindex("\n", at, span.start) + 1
        at = span.start
        secret = text[span.start : span.end]
        masked = f"{span.prefix}... ({len(secret)} characters, #{_tag(secret, span.kind)})"
        last = line + secret.count("\n")
        yield Secret(span.kind, line, span.start - begin + 1, masked, span.placeholder, span.doubtful, last)


def _tag(secret: str, kind: str) -> str:
    """Four digits of a salted hash: they show that another secret is there now, and lead nobody to this one."""
    from hashlib import blake2b

    return blake2b(secret.encode("utf-8", "surrogatepass"), digest_size=2, salt=kind[:16].encode()).hexdigest()


def _gaps(text: str, spans: Sequence[SecretSpan], secrets: Sequence[Secret]) -> Iterator[Span]:
    for span, secret in zip(spans, secrets, strict=True):
        if secret.last > secret.line:
            line_end = text.find("\n", span.end)
            rest = text[span.end : line_end if line_end >= 0 else len(text)]
            last = secret.last - bool(rest.strip())
            if last > secret.line:
                yield secret.line + 1, last


# --- Masks -----------------------------------------------------------------------------------------------------------


def _masked_text(text: str, spans: Sequence[SecretSpan]) -> str:
    pieces: list[str] = []
    at = 0
    for span in spans:
        pieces += text[at : span.start], _mask(text, span)
        at = span.end
    return "".join([*pieces, text[at:]])


def _mask(text: str, span: SecretSpan) -> str:
    return f"[masked:{span.kind}]" + "\n" * text.count("\n", span.start, span.end)


MAX_ROUNDS = 8
"""Number of times that a text is searched. What follows a secret may become one when the secret is masked."""


def _all_spans(text: str) -> list[SecretSpan]:
    """The secrets of a text and of its masked text, by their places in the text."""
    spans = found = _spans(text)
    for _ in range(MAX_ROUNDS if spans else 0):
        found = _spans(_masked_text(text, spans))
        if not found:
            break
        spans = _merge([*spans, *_unmasked_places(text, spans, found)])
    return spans


def _unmasked_places(text: str, spans: Sequence[SecretSpan], found: Sequence[SecretSpan]) -> Iterator[SecretSpan]:
    """Spans of the masked text, by their places in the text."""
    begins, ends, shift = [0], [0], 0
    for span in spans:
        begins.append(span.start + shift)
        shift += len(_mask(text, span)) - (span.end - span.start)
        ends.append(span.end + shift)

    def original(at: int, place: int) -> int:
        masked = spans[place - 2] if place > 1 else None
        return at - ends[place - 1] + masked.end if masked else at

    for span in found:
        # A secret may begin where a mask ends, and end where one begins, but not within one.
        start = original(span.start, bisect_right(ends, span.start))
        yield span._replace(start=start, end=original(span.end, bisect_left(begins, span.end)))


# --- Search ----------------------------------------------------------------------------------------------------------


def _spans(text: str) -> list[SecretSpan]:
    """The secrets, none of which overlap, without the ones that a comment allows."""
    spans = list[SecretSpan]()
    if _may_hold_block(text):
        from contextasm.text.cleaning.secrets.blocks import block_spans  # here: few texts hold one

        spans += block_spans(text)
    families = (*LONG_FAMILIES, *SHORT_FAMILIES) if _may_hold_long_word(text) else SHORT_FAMILIES
    # Of all letters, only this one becomes longer.
    folded_text = text.lower() if text.isascii() else text.replace("\u0130", "i").lower()
    searched = [shape for may_hold, family in families if may_hold(text, folded_text) for shape in family]
    spans += [span for shape in searched for span in _shape_spans(text, folded_text, shape)]
    return _without_allowed(text, _merge(spans)) if spans else []


def _may_hold_block(text: str) -> bool:
    return ("-" in text and ("-----BEGIN" in text or "Private-Lines:" in text)) or _has(":", r"kind:\s*Secret", text)


def _merge(spans: Sequence[SecretSpan]) -> list[SecretSpan]:
    """The spans in the order of the text; of spans that overlap their union, so that no part of either is left over.

    Its kind is that of the one that begins first, then of the one that comes first here.
    """
    merged: list[SecretSpan] = []
    for span in sorted(spans, key=lambda span: span.start):
        if merged and span.start < merged[-1].end:
            last = merged[-1]
            merged[-1] = last._replace(
                end=max(last.end, span.end),
                placeholder=last.placeholder and span.placeholder,
                doubtful=last.doubtful and span.doubtful,
            )
        else:
            merged.append(span)
    return merged


_ALLOWED = r"(?:<!--\s*ctxasm: allow-secret\s*-->|#\s*ctxasm: allow-secret)\s*\Z"


def _without_allowed(text: str, spans: Sequence[SecretSpan]) -> list[SecretSpan]:
    """The spans but for those whose last line ends in the comment."""
    if "ctxasm: allow-secret" not in text:
        return list(spans)
    kept, stop, allowed = [], -1, False
    for span in spans:
        # Bounds once for each line: a line may be as long as the file and full of secrets.
        if span.end > stop:
            stop = text.find("\n", span.end)
            stop = len(text) if stop < 0 else stop
            begin = text.rfind("\n", 0, stop) + 1
            allowed = bool(re.compile(_ALLOWED).search(text, max(begin, stop - 80), stop))
        if not allowed:
            kept.append(span)
    return kept


def _shape_spans(text: str, folded_text: str, shape: Shape) -> Iterator[SecretSpan]:
    """The secrets of one shape, in the order of each anchor.

    `folded_text` is the text in small letters, of the same length.
    """
    for anchor in shape.anchors:
        prefix = "" if shape.folded else anchor[:4]
        for start, end, match in _anchored_matches(folded_text if shape.folded else text, text, anchor, shape):
            own_prefix = prefix if text.startswith(prefix, start) else ""
            yield SecretSpan(start, end, shape.kind, own_prefix, not shape.is_real(match), not shape.is_sure(match))
    if shape.clue and re.search(shape.clue, text):
        for match in re.finditer(shape.pattern, text):
            yield SecretSpan(*match.span(), shape.kind, "", not shape.is_real(match))


def _anchored_matches(searched: str, text: str, anchor: str, shape: Shape) -> Iterator[tuple[int, int, re.Match[str]]]:
    """Start, end and match of each secret.

    The search goes on after it, so that a repeat without a bound reads each character once. What is not a secret may
    hide one, and its pattern has bounds: there the search goes on after the anchor.
    """
    pattern = re.compile(shape.pattern)
    group = "secret" if "secret" in pattern.groupindex else 0
    at = searched.find(anchor)
    while at >= 0:
        following = at + len(anchor)
        match = pattern.match(text, at)
        if match and shape.is_secret(match):
            end = re.compile(_RUN).match(text, match.end(group)).end() if shape.long else match.end(group)  # type: ignore[union-attr]
            if not shape.wider or shape.is_real(match):
                yield match.start(group), end, match
            following = max(following, match.end(), end)
        at = searched.find(anchor, following)


_RUN = r"(?:[A-Za-z0-9+/_.~=-]|\\[\"'](?=[A-Za-z0-9+/_.~=-]))*+"
"""A word, with escaped quotes within it."""


# --- Tests -----------------------------------------------------------------------------------------------------------


def _has(mark: str, pattern: str, text: str) -> bool:
    """Whether the pattern is found in a text; `mark` is a character of all its matches."""
    # Most texts have no such character at all, and to see that takes no time.
    return mark in text and re.search(pattern, text) is not None


_ARGUMENT = r"-(?:(?<=--)(?:[a-z0-9-]{0,60}?(?:secret|token|pass[a-z]{0,6}|pwd|key)[ \t]|user[ =])|u(?<=\s-u))"


def _has_argument(text: str) -> bool:
    """Whether a text may hold a secret as an argument of a command."""
    return _has("-", _ARGUMENT, text) or ("password" in text and "login " in text)


def _may_hold_token(text: str) -> bool:
    return (
        any(_has(sign, token_pattern(sign), text) for sign in "_-.")
        or any(shape.clue and re.search(shape.clue, text) for shape in shapes.TOKEN_SHAPES)
        or _has("A", r"A(?:[KSB]IA|KID|CCA|Iza|TATT3x|I(?<=LTAI))", text)
        or _has("K", r"SK[0-9a-f]{32}", text)
        or _has("d", r"dapi[0-9a-f]{32}", text)
        or "eyJ" in text
    )


_LONG_WORD = b"x" * 15
"""The word of the shortest secret of `LONG_FAMILIES`, translated: `xoxb-` and ten characters."""

_WORD_CHARACTERS = (
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/_.~=-"
    b"\\\"'%"  # escapes within a secret
)
_WORDS = bytes(ord("x") if byte in _WORD_CHARACTERS else ord(" ") for byte in range(256))


def _may_hold_long_word(text: str) -> bool:
    # To translate bytes and find a long run takes a tenth of the tests below. Nearly every address is a long word.
    if "/" in text and "://" in text:
        return True
    return _LONG_WORD in text.encode("utf-8", "surrogatepass").translate(_WORDS)


Family = tuple[Callable[[str, str], bool], tuple[Shape, ...]]
"""A test that every text with one of the shapes passes, given as it is and in small letters, and the shapes."""


def _by_anchors(family: tuple[Shape, ...]) -> Family:
    """The family of shapes of which a text may hold one if it holds one of their anchors."""
    anchors = [*dict.fromkeys(anchor.lower() for shape in family for anchor in shape.anchors)]
    return lambda _, folded_text: any(map(folded_text.__contains__, anchors)), family


LONG_FAMILIES: tuple[Family, ...] = (
    (lambda text, _: _may_hold_token(text), shapes.TOKEN_SHAPES),
    *map(_by_anchors, (shapes.WEBHOOK_SHAPES, shapes.AWS_SECRET_SHAPES, shapes.ASSIGNED_SHAPES)),
    (lambda text, _: _has_argument(text), shapes.ARGUMENT_SHAPES),
)
"""Families whose secrets are long words, in order of preference."""

SHORT_FAMILIES: tuple[Family, ...] = (
    *map(_by_anchors, (shapes.HEADER_SHAPES, shapes.URL_SHAPES, shapes.PASSWORD_SHAPES)),
)
"""Families whose secrets may be short words: they come after the others in order of preference."""
