"""Checks of text: hidden characters, secrets, references, comments, private lines, and orders to the model.

Text that reads like an order is reported, and nothing more: nobody can list all the ways to say it.
"""

from __future__ import annotations

import posixpath
import re
from bisect import bisect
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import chain
from unicodedata import category, normalize
from urllib.parse import unquote

from contextasm.checks.finding import Finding, error_finding, note_finding, warning_finding
from contextasm.checks.inspection import Inspection
from contextasm.config.input.yaml_loader import load_yaml
from contextasm.model import Document, Memory
from contextasm.retrieval.reading.audience import SharedWorkspace
from contextasm.rules.apply import PINS
from contextasm.text.cleaning.clean import folded_hidden
from contextasm.text.markdown.blocks import blocks, code_lines, headings, without_comments
from contextasm.text.markdown.front_matter import attributes
from contextasm.text.markdown.hidden_markup import hidden_markup
from contextasm.text.markdown.managed_block import ManagedBlock, find_block
from contextasm.text.names.places import known_paths, list_archived
from contextasm.text.names.templates import fill_template
from contextasm.text.similarity import fold_text
from contextasm.workspace.reading import required_bytes

HARMFUL_KINDS = {"tag", "bidi"}
"""Kinds of hidden characters that no plain text has a use for."""


def check_hidden_characters(inspection: Inspection) -> Iterator[Finding]:
    """Report characters that a reader does not see and a model does: an error for hidden or reordered text."""
    for path, document in inspection.documents.items():
        for run, message in folded_hidden(document.hidden):
            make_finding = error_finding if run.kind in HARMFUL_KINDS or run.payload else warning_finding
            hint = f"delete {'it' if message.startswith('holds a ') else 'them'}, and find out who wrote this"
            yield make_finding(path, run.line, message, hint)


def check_secrets(inspection: Inspection) -> Iterator[Finding]:
    """Report keys, tokens and passwords only by their public prefix: errors, warnings if in doubt, or notes."""
    hint = (
        "revoke it, and delete it here and from git's history; "
        "if it is not a real secret, end the line with `<!-- ctxasm: allow-secret -->`"
    )
    placeholder_hint = "shorten it to `ghp_...`, or end the line with `<!-- ctxasm: allow-secret -->`"
    for path, document in inspection.documents.items():
        for secret in document.secrets:
            message = f"holds {secret.words}"
            if secret.placeholder:
                yield note_finding(path, secret.line, message, placeholder_hint)
            else:
                make_finding = warning_finding if secret.doubtful else error_finding
                yield make_finding(path, secret.line, message, hint)


# --- References ------------------------------------------------------------------------------------------------------

_MARKDOWN = (".md", ".md.gz")

_LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(<?([^()\s<>]*)>?(?: \"[^\"\n]*\")?\)")
_REFERENCE_IN_CODE = re.compile(r"`([\w./-]+\.md#[^`\n]+)`")
_EXTERNAL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|[/~]")
_TEMPLATE = re.compile(r"[{}*$]|YYYY|\.\.\.")
"""Marks of a path that means several files, such as `daily/YYYY-MM-DD.md`."""


def check_references(inspection: Inspection) -> Iterator[Finding]:
    """Report links to Markdown files and headings of the workspace that do not exist."""
    for path, document in inspection.documents.items():
        if (path.endswith(_MARKDOWN) and "](" in document.text) or ".md#" in document.text:
            for line, reference in _references(document):
                yield from _broken_reference(inspection, document, line, reference)


def _references(document: Document) -> Iterator[tuple[int, str]]:
    """Links, and `file.md#heading` in code, each with its line; none in blocks of code and HTML comments."""
    code = code_lines(document.text.split("\n"))
    for at, line in enumerate(without_comments(document.text)[0].split("\n")):
        if at not in code:
            without_code = re.sub(r"`[^`\n]*`", "", line)
            targets = map(unquote, _LINK.findall(without_code))
            yield from ((document.line + at, target) for target in (*_REFERENCE_IN_CODE.findall(line), *targets))


def _broken_reference(inspection: Inspection, document: Document, line: int, reference: str) -> Iterator[Finding]:
    file, _, anchor = reference.partition("#")
    is_path = not (_EXTERNAL.match(reference) or _TEMPLATE.search(file) or "\0" in file)
    if not is_path or not (file.endswith(".md") or (anchor and not file)):
        return
    paths = _referred_paths(document.path, file)
    if not paths:
        return
    places = chain(paths, chain.from_iterable(list_archived(inspection.workspace, path) for path in paths))
    results = map(inspection.workspace.read, places)
    target = next((result for result in results if isinstance(result, Document)), None)
    if not target:
        message = f"the reference {reference} leads to {paths[0]}, which does not exist"
        hint = "correct the path (relative to this file or to the workspace), or remove the reference"
        yield warning_finding(document.path, line, message, hint)
    elif (
        # One that begins with an emoji has a hyphen at its beginning on GitHub, and none elsewhere.
        (folded := anchor.strip().casefold().strip("-"))
        and not re.fullmatch(r"l\d+(?:-l?\d+)?", folded)
        and folded not in _anchors(target.text)
    ):
        message = f"the reference {reference} names a heading that {target.path} does not have"
        yield warning_finding(document.path, line, message, "name an existing heading, or remove the reference")


def _referred_paths(path: str, file: str) -> Sequence[str]:
    """Inner paths that a reference in a file may mean: from its folder, those before it was archived, and the top."""
    places = known_paths(path)
    relative = [posixpath.join(posixpath.dirname(place), file) if file else path for place in places]
    paths = dict.fromkeys(map(posixpath.normpath, (*relative, file or path)))
    return [each for each in paths if not each.startswith("..")]


@lru_cache(maxsize=64)
def _anchors(text: str) -> Collection[str]:
    """The folded anchors of the headings of a text: the heading itself, and the one that GitHub makes of it."""
    slug_counts: Counter[str] = Counter()
    anchors: set[str] = set()
    for _, _, title in headings(text.split("\n")):
        words = title.casefold()
        slug = re.sub(r"[^\w\- ]", "", words).replace(" ", "-").strip("-")
        numbered_slug = f"{slug}-{slug_counts[slug]}" if slug_counts[slug] else slug
        slug_counts[slug] += 1
        anchors |= {words, slug, numbered_slug}
    return anchors


MAX_QUOTED_LENGTH = 60
"""Number of characters of a text that a finding quotes."""

_DIRECTIVE = "<!-- ctxasm:"
"""Beginning of comments that ctxasm itself reads or writes."""


def check_comments(inspection: Inspection) -> Iterator[Finding]:
    """Report comments and hidden elements of files that a build shows: no page shows them, and a model reads them."""
    hint = "remove it, or set `comments: strip` for the layer"
    keeping = {layer.id for layer in (*inspection.layers, PINS) if layer.display.comments == "keep"}
    decisions = (decision for context in inspection.contexts for decision in context.decisions)
    paths = {decision.path for decision in decisions if decision.kept and decision.layer in keeping}
    for path in sorted(paths & inspection.documents.keys()):
        document = inspection.documents[path]
        line, at = document.line, 0
        for start, end in hidden_markup(document.text):
            line, at = line + document.text.count("\n", at, start), start
            words = document.text[start:end].partition("\n")[0]
            if not words.startswith(_DIRECTIVE):
                what = "HTML comment" if words.startswith("<!--") else "hidden markup"
                message = f"the model sees this {what}: {quoted(words)}"
                yield note_finding(path, line, message, hint)


_ORDERS = __file__.replace("text.py", "orders.txt")
"""Patterns of the usual forms, in the form that `_normalized` gives a text."""

_KEYWORD = re.compile(
    r"ignor|disregard|forget|overrid|bypass|do not|system|vergis|missacht|oubli|neglig|olvid|descart|esquec|desconsid"
    r"|dimentic|negeer|vergeet|zapomn|забуд|игнор|忽略|无视|無視|忘|무시|잊"
)


def check_orders(inspection: Inspection) -> Iterator[Finding]:
    """Report text in the usual forms of orders to a model, such as to ignore its instructions."""
    hint = "find out who wrote it; ctxasm keeps it, and a model may obey it"
    for path, document in inspection.documents.items():
        text = _normalized(document.whole)
        if not _KEYWORD.search(text):
            continue
        matches = (match for pattern in _order_patterns() for match in pattern.finditer(text))
        line_ends = [match.start() for match in re.finditer("\n", text)]
        lines = {bisect(line_ends, match.start()) + 1: match[0] for match in matches}
        for line, words in sorted(lines.items()):
            message = f"this reads like an order to the model: {quoted(words)}"
            if memory := _written_memory(inspection, path, line):
                message = f"memory {memory.id}, which {memory.writer} wrote, {message.removeprefix('this ')}"
                mend = f"delete it with `ctxasm edit {memory.id}`, unless somebody asked for it"
                yield warning_finding(path, line, message, mend)
            else:
                yield note_finding(path, line, message, hint)


@cache
def _order_patterns() -> Sequence[re.Pattern[str]]:
    text = required_bytes(_ORDERS, "install ctxasm again").decode()
    lines = [line for line in text.split("\n") if line and not line.startswith("#")]
    return [re.compile(line.replace(r"\s", r"[ \n]+")) for line in lines]


def _written_memory(inspection: Inspection, path: str, line: int) -> Memory | None:
    """The memory in a line of a file, if a program wrote it."""
    memories = inspection.memories[path][0] if path in inspection.memories else ()
    at = (each for each in memories if each.writer and each.line <= line <= each.line + each.text.count("\n"))
    return next(at, None)


def _normalized(text: str) -> str:
    """A copy in which letters of one form are one letter: NFKC, folded, without accents and characters of no width."""
    if text.isascii():
        return text.casefold()
    decomposed = normalize("NFKD", normalize("NFKC", text).casefold())
    unseen = {"Cf", "Mn", "Me"}
    composed = "".join(letter for letter in decomposed if letter == "\n" or category(letter) not in unseen)
    # Letters of Korean were taken apart, too.
    return normalize("NFC", composed).replace("\u2028", " ").replace("\u2029", " ")


def quoted(words: str) -> str:
    """Words in quotes and one line; of long ones, the beginning."""
    words = " ".join(words.split())
    return f'"{words}"' if len(words) <= MAX_QUOTED_LENGTH else f'"{words[:MAX_QUOTED_LENGTH]}..."'


MIN_PRIVATE_LENGTH = 16
"""Least number of characters of a line that counts; shorter ones may be anywhere."""

LINE_MARKS = re.compile(r"^\s*(?:[-*+>]|\d+[.)])?\s*(?:\[[^\]]*\]\s)?")


_SENTENCE = re.compile(r"[^\s.!?](?:[^.!?]|[.!?](?!\s))*")


def sentences(text: str) -> Iterator[tuple[int, str]]:
    """The sentences of a text with their lines, counted from 0, without headings, tables, code and marks of lists."""
    lines = text.split("\n")
    for block in blocks(lines):
        if block.kind != "text":
            continue
        line, at = max(block.body, block.first), 0
        part = "\n".join(LINE_MARKS.sub("", attributes(each)[0]) for each in lines[line : block.stop])
        for sentence in _SENTENCE.finditer(part):
            line, at = line + part.count("\n", at, sentence.start()), sentence.start()
            yield line, sentence[0]


def check_private_blocks(inspection: Inspection) -> Iterator[Finding]:
    """Report lines of managed blocks that are private in their source."""
    blocks = {path: block for path, document in inspection.documents.items() if (block := _block(document))}
    private = _private_lines(inspection) if blocks else {}
    for path, block in blocks.items():
        for number, line in enumerate(block.content.split("\n"), block.line + 1):
            if origin := private.get(_comparable(line)):
                hint = "build the block again, without `--audience personal`"
                yield warning_finding(path, number, f"the managed block shows a line that is private in {origin}", hint)
                break


def _block(document: Document) -> ManagedBlock | None:
    block = find_block(document.data.decode("utf-8", "surrogateescape"))
    return block if isinstance(block, ManagedBlock) and block.ours else None


def _private_lines(inspection: Inspection) -> Mapping[str, str]:
    """Paths of private lines, by the line without its marks."""
    owners = {"agent": "*", "team": "*", "open": "", "changed": ""}
    templates = [path for layer in inspection.layers if layer.private for path in layer.query.paths]
    shared = SharedWorkspace(inspection.workspace, [fill_template(path, owners) for path in templates], load_yaml)
    lines: dict[str, str] = {}
    for path, document in inspection.documents.items():
        visible = shared.read(path)
        if isinstance(visible, Document) and visible.lacks_private:
            raw = document.whole.split("\n")
            numbers = (n for gap in visible.gaps if gap.reason == "private" for n in range(gap.first, gap.last + 1))
            for words in (_comparable(raw[number - 1]) for number in numbers if number <= len(raw)):
                if len(words) >= MIN_PRIVATE_LENGTH:
                    lines.setdefault(words, path)
    return lines


def _comparable(line: str) -> str:
    return fold_text(LINE_MARKS.sub("", attributes(line)[0]))
