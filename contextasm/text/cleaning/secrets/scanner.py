"""Keys, tokens and passwords in a text, recognized by their shape, and the text without them.

Nobody is asked whether a key works. A secret is never handed on: a result holds the kind, the place, the public prefix
and the length. A line that ends in the comment `ctxasm: allow-secret` keeps its secrets, and they are not reported.
"""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from contextasm.model import Secret, Span
from contextasm.text.cleaning.secrets.families import shapes_to_search
from contextasm.text.cleaning.secrets.shapes import SecretSpan, has, shape_spans

_MASK = re.compile(r"\[masked:([a-z0-9-]+)\]")


def count_masks(text: str) -> dict[str, int]:
    """The number of masks in a text by kind of secret, in the order of kinds; empty for none."""
    if "[masked:" not in text:
        return {}
    return dict(sorted(Counter(_MASK.findall(text)).items()))


class MaskedText(NamedTuple):
    """A text with a mask in place of each secret. It has as many lines as before."""

    text: str
    secrets: tuple[Secret, ...]
    """The secrets in the order of the text, with their places in the text before."""
    gaps: tuple[Span, ...]
    """First and last line, counted from 1, of lines that are empty now since a secret of several lines was there."""


def find_secrets(text: str) -> Iterator[Secret]:
    """The secrets in the order of the text, placeholders included."""
    return _located(text, _all_spans(text))


def mask_secrets(text: str) -> MaskedText:
    """The text with `[masked:KIND]` in place of each secret; the same object if there is none.

    A secret of several lines has its mask in its first line, and its other lines become empty. To mask a masked text
    changes nothing.
    """
    spans = _all_spans(text)
    if not spans:
        return MaskedText(text, (), ())
    return MaskedText(_masked_text(text, spans), tuple(_located(text, spans)), tuple(_gaps(text, spans)))


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
        yield Secret(span.kind, line, span.start - begin + 1, masked, span.placeholder)


def _tag(secret: str, kind: str) -> str:
    """Four digits of a salted hash: they show that another secret is there now, and lead nobody to this one."""
    from hashlib import blake2b

    return blake2b(secret.encode("utf-8", "surrogatepass"), digest_size=2, salt=kind[:16].encode()).hexdigest()


def _gaps(text: str, spans: Sequence[SecretSpan]) -> Iterator[Span]:
    line, at = 1, 0
    for start, end, *_ in spans:
        line += text.count("\n", at, start)
        at = start
        if breaks := text.count("\n", start, end):
            line_end = text.find("\n", end)
            rest = text[end : line_end if line_end >= 0 else len(text)]
            last = line + breaks - bool(rest.strip())
            if last > line:
                yield line + 1, last


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
"""Number of times that a text is searched. What is behind a secret may become one where the secret is masked."""


def _all_spans(text: str) -> list[SecretSpan]:
    """The secrets of a text, and those of its masked text, by their places in the text."""
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
    """The secrets, none of which overlap, without those that a comment allows."""
    shapes = shapes_to_search(text)
    spans = list[SecretSpan]()
    if _may_hold_block(text):
        from contextasm.text.cleaning.secrets.blocks import block_spans  # here: few texts hold one

        spans += block_spans(text)
    if shapes:
        folded_text = _fold(text)
        spans += [span for shape in shapes for span in shape_spans(text, folded_text, shape)]
    if not spans:
        return []
    return _without_allowed(text, _merge(spans))


def _may_hold_block(text: str) -> bool:
    return ("-" in text and ("-----BEGIN" in text or "Private-Lines:" in text)) or has(":", r"kind:\s*Secret", text)


def _fold(text: str) -> str:
    # Of all letters, only this one becomes longer.
    return text.lower() if text.isascii() else text.replace("\u0130", "i").lower()


def _merge(spans: Sequence[SecretSpan]) -> list[SecretSpan]:
    """The spans in the order of the text; of those that overlap their union, so that no part of either is left over.

    Its kind is that of the one that begins first, then of the one that comes first here.
    """
    merged: list[SecretSpan] = []
    for span in sorted(spans, key=lambda span: span.start):
        if merged and span.start < merged[-1].end:
            last = merged[-1]
            merged[-1] = last._replace(end=max(last.end, span.end), placeholder=last.placeholder and span.placeholder)
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
