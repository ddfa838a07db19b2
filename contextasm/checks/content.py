"""Checks of what texts say: HTML comments that builds show, and text that gives orders to the model.

Such text is told of, and nothing more: nobody can list all the ways to say it, and a memory may be about it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from unicodedata import category, normalize

from contextasm.checks.finding import Finding
from contextasm.checks.inspection import Inspection, note_finding, warning_finding
from contextasm.config.input.yaml_loader import load_yaml
from contextasm.model import Document
from contextasm.retrieval.reading.audience import SharedWorkspace
from contextasm.rules.apply import PINS
from contextasm.text.markdown.blocks import DIRECTIVES, comments
from contextasm.text.markdown.front_matter import attributes
from contextasm.text.markdown.managed_block import ManagedBlock, find_block
from contextasm.text.names.templates import fill_template
from contextasm.text.similarity import fold_text

MAX_QUOTED_LENGTH = 60
"""Number of characters of a text that a finding quotes."""


def check_comments(inspection: Inspection) -> Iterator[Finding]:
    """Report the HTML comments of files that a build shows: no reader of the page sees them, and a model does."""
    hint = "take it out, or set `comments: strip` for the layer"
    for path in sorted(_paths_with_comments(inspection) & inspection.documents.keys()):
        document = inspection.documents[path]
        lines = document.text.split("\n")
        for comment in comments(document.text):
            words = lines[comment.line][comment.start : comment.end if comment.last == comment.line else None]
            if not words.startswith(DIRECTIVES):
                message = f"holds an HTML comment, which the model is shown: {_quoted(words)}"
                yield note_finding(path, document.line + comment.line, message, hint)


def _paths_with_comments(inspection: Inspection) -> set[str]:
    """The files of which layers that keep comments show anything."""
    keeping = {layer.id for layer in (*inspection.layers, PINS) if layer.display.comments == "keep"}
    return {
        decision.path
        for context in inspection.contexts
        for decision in context.decisions
        if decision.kept and decision.layer in keeping
    }


_ORDERS = (
    # Ignore, forget, disregard: all or the earlier instructions.
    (
        r"\b(?:ignore|disregard|forget|override|bypass)\s(?:\w+\s){0,4}?"
        r"(?:previous|prior|above|earlier|preceding|former|existing|system)\s(?:\w+\s){0,2}?"
        r"(?:instructions?|prompts?|rules?|directives?|messages?|guidelines?|commands?)\b"
    ),
    (
        r"\b(?:ignore|disregard|forget)\s(?:all|any|everything)\s(?:of\s)?(?:(?:the|your|my|these|those)\s)?"
        r"(?:instructions|rules|above|before|you were told)\b"
    ),
    r"\bdo not (?:tell|inform|mention (?:this|it) to) the user\b",
    r"\b(?:reveal|print|repeat|show|output)\s(?:\w+\s){0,2}?system (?:prompt|message|instructions)\b",
    (
        r"\b(?:ignoriere?|vergiss|missachte)\s(?:\w+\s){0,3}?(?:vorherigen|bisherigen|vorigen|obigen|fruheren|alle)\s"
        r"(?:\w+\s){0,1}?(?:anweisungen|befehle|instruktionen|regeln|vorgaben)\b"
    ),
    (
        r"\b(?:ignore[zr]?|oublie[zr]?|neglige[zr]?)\s(?:\w+\s){0,3}?(?:instructions|consignes|regles|ordres)\s"
        r"(?:precedentes?|anterieure?s|ci-dessus)"
    ),
    (
        r"\b(?:ignor[ae]|ignorar|olvida|olvide|olvidar|descarta)\s(?:\w+\s){0,3}?(?:instrucciones|ordenes|reglas)\s"
        r"(?:anteriores|previas)"
    ),
    r"\b(?:ignor[ae]|ignorar|esqueca|desconsidere)\s(?:\w+\s){0,3}?(?:instrucoes|ordens|regras)\s(?:anteriores|previas)",
    r"\b(?:ignora|ignorare|dimentica)\s(?:\w+\s){0,3}?(?:istruzioni|regole|ordini)\s(?:precedenti|anteriori)",
    r"\b(?:negeer|vergeet)\s(?:\w+\s){0,3}?(?:vorige|eerdere|bovenstaande)\s(?:\w+\s)?(?:instructies|regels|opdrachten)",
    r"\b(?:zignoruj|zapomnij)\s(?:\w+\s){0,3}?(?:poprzednie|wczesniejsze)\s(?:instrukcje|polecenia)",
    r"(?:игнорируи|проигнорируи|забудь)\w*\s(?:\w+\s){0,3}?(?:предыдущ|прежн|вышеуказанн)\w*\s(?:инструкц|указан|правил)",
    r"(?:忽略|无视|無視|忘记|忘記)[^。\n]{0,8}?(?:之前|以上|先前|前面|此前|上述)[^。\n]{0,6}?(?:指令|指示|提示|规则|規則|说明)",
    r"(?:以前|これまで|上記|前|今まで)の[^。\n]{0,8}?(?:指示|命令|ルール|フロンフト)[^。\n]{0,4}?(?:無視|忘れ)",
    r"(?:이전|위|앞)의?\s?(?:\w+\s){0,2}?(?:지시|명령|지침)\w*\s?(?:\w+\s){0,2}?(?:무시|잊)",
)
"""Patterns of the usual forms, in the form that `_normalized` gives a text."""

_KEYWORD = re.compile(
    r"ignor|disregard|forget|overrid|bypass|do not|system|vergis|missacht|oubli|neglig|olvid|descart|esquec|desconsid"
    r"|dimentic|negeer|vergeet|zapomn|забуд|игнор|忽略|无视|無視|忘|무시|잊"
)


def check_orders(inspection: Inspection) -> Iterator[Finding]:
    """Report text in the usual forms of orders to a model, such as to ignore its instructions."""
    patterns: list[re.Pattern[str]] = []
    hint = "find out who wrote it; `ctxasm` removes none of it and can't tell whether a model obeys it"
    for path, document in inspection.documents.items():
        text = _normalized(document.whole)
        if not _KEYWORD.search(text):
            continue
        patterns = patterns or [re.compile(pattern.replace(r"\s", r"[ \n]+")) for pattern in _ORDERS]
        lines = {
            text.count("\n", 0, match.start()) + 1: match[0] for pattern in patterns for match in pattern.finditer(text)
        }
        for line, words in sorted(lines.items()):
            yield note_finding(path, line, f"reads like an order to the model: {_quoted(words)}", hint)


def _normalized(text: str) -> str:
    """A copy in which letters of one form are one letter: NFKC, folded, without accents and characters of no width."""
    if text.isascii():
        return text.casefold()
    decomposed = normalize("NFKD", normalize("NFKC", text).casefold())
    unseen = {"Cf", "Mn", "Me"}
    composed = "".join(letter for letter in decomposed if letter == "\n" or category(letter) not in unseen)
    # Letters of Korean were taken apart, too.
    return normalize("NFC", composed).replace("\u2028", " ").replace("\u2029", " ")


def _quoted(words: str) -> str:
    words = " ".join(words.split())
    return f'"{words}"' if len(words) <= MAX_QUOTED_LENGTH else f'"{words[:MAX_QUOTED_LENGTH]}..."'


MIN_PRIVATE_LENGTH = 16
"""Least number of characters of a line that counts; shorter ones may stand anywhere."""

_LINE_MARKS = re.compile(r"^\s*(?:[-*+>]|\d+[.)])?\s*(?:\[[^\]]*\]\s)?")


def check_private_blocks(inspection: Inspection) -> Iterator[Finding]:
    """Report lines of managed blocks that are private where they come from."""
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
    return fold_text(_LINE_MARKS.sub("", attributes(line)[0]))
