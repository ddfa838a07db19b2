"""Views of what hosts load by themselves: the tables of `ctxasm explain --host`, and its page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from contextasm.checks.hosts.cuts import LoadedFile
from contextasm.checks.hosts.files import HostReading
from contextasm.checks.hosts.report import lost_tokens
from contextasm.rendering import page as html
from contextasm.rendering.context_page import LOST, SHOWN, LineState, ListedFile, folded_files
from contextasm.rendering.tables import Table
from contextasm.selection.tokens import ESTIMATE
from contextasm.text.cleaning.clean import clean_text

PrivateLines = Callable[[str, str], frozenset[int]]
"""Takes the path and the text of a file; gives the lines that the readers of a page may not see, counted from 1."""


def file_table(reading: HostReading) -> Table:
    """Each file, loaded or not, with its tokens and the tokens that are lost, and each import that is not loaded."""
    rows = [_file_row(file) for file in reading.files]
    for file in (*reading.unread, *reading.below):
        outcome = "on demand" if file.on_demand else "not loaded"
        rows.append([file.path, outcome, f"{ESTIMATE.count(file.text):,}", "", file.why])
    rows += [[f"{each.path}:{each.line}", "not loaded", "", "", each.message] for each in reading.problems if each.line]
    rows += [[each.path, "unreadable", "", "", each.message] for each in reading.problems if not each.line]
    return ("file", "outcome", "tokens", "lost", "why"), rows, (2, 3)


def _file_row(file: LoadedFile) -> Sequence[str]:
    lost = lost_tokens(file.lost_sections)
    reasons = [f"cut at {file.limit}" if lost else "", f"imported by {file.imported_by}" if file.imported_by else ""]
    reasons += ["on demand" if file.on_demand else "", "" if file.rule.limit_known else "no limit is documented"]
    reasons += ["less " + " and ".join(file.rule.taken_out).replace("_", " ") if file.taken else ""]
    why = ", ".join(filter(None, reasons))
    return [file.path, file.outcome, f"{ESTIMATE.count(file.text):,}", f"{lost:,}" if lost else "", why]


def skill_table(reading: HostReading) -> Table:
    """Each skill, with the characters of its description and how many of them the host lists."""
    rows = [
        [skill.path, skill.outcome, f"{len(skill.description):,}", f"{skill.kept:,}", skill.why]
        for skill in reading.skills
    ]
    return ("skill", "outcome", "characters", "listed", "why"), rows, (2, 3)


def lost_table(reading: HostReading) -> Table:
    """Each section of a file that is lost, with its lines, tokens and heading."""
    rows = [
        [f"{file.path}:{section.first}", str(section.last), f"{lost_tokens([section]):,}", section.heading or "-"]
        for file in reading.files
        for section in file.lost_sections
    ]
    return ("never seen from", "to line", "tokens", "heading"), rows, (1, 2)


def host_page(readings: Sequence[HostReading], style: str, folder: str, private: PrivateLines, readers: str) -> str:
    """The page of what one or more hosts load in a folder, with every file, its tokens and the fate of its lines.

    `folder` is the folder's name, `readers` says who may read the page, and `style` is the style sheet. Of a line that
    is private only the number is shown.
    """
    names = [reading.host.summary for reading in readings]
    labelled = [(f"{name}: " if names[1:] else "", reading) for name, reading in zip(names, readings, strict=True)]
    files = [file for label, reading in labelled for file in _listed_files(label, reading, private)]
    folded, anchors = folded_files(files, len(files))
    title = f"What {f'{len(names)} hosts load' if names[1:] else f'{names[0]} loads'} in {folder}"
    about = html.element("p", html.words(f"tokens by estimate; {readers}"), class_="request")
    parts = (
        f"<header>{html.element('h1', html.words(title))}\n{about}</header>",
        "<main>",
        f"<section>{html.element('h2', 'Tokens')}\n{html.bars([_bar(reading) for reading in readings])}</section>",
        *(_host_section(label, reading, anchors, private) for label, reading in labelled),
        f"<section>{html.element('h2', 'Files')}\n{folded}</section>",
        "</main>",
    )
    return html.page(title, style, parts)


def _bar(reading: HostReading) -> tuple[str, str, Sequence[html.BarPiece]]:
    """The files of a host in their order, then what is lost of them."""
    colour_of = html.colours(file.path for file in reading.files)
    kept = {file.path: "".join(file.text[start:stop] for start, stop in file.kept) for file in reading.files}
    pieces = [(colour_of[path], ESTIMATE.count(text), path) for path, text in kept.items()]
    lost = lost_tokens([section for file in reading.files for section in file.lost_sections])
    figures = f"{sum(tokens for _, tokens, _ in pieces):,} tokens loaded" + (f", {lost:,} lost" if lost else "")
    return reading.host.summary, figures, [*pieces, ("free", lost, LOST)]


def _listed_files(label: str, reading: HostReading, private: PrivateLines) -> Iterator[ListedFile]:
    for file in reading.found:
        hidden = private(file.path, file.text)
        lines = clean_text(file.text.removeprefix("\ufeff")).text.rstrip("\n").split("\n")
        fates: dict[int, str] = {}
        if isinstance(file, LoadedFile):
            fates = dict.fromkeys(file.taken_lines, "taken out") | dict.fromkeys(file.lost_lines, LOST)
        default = SHOWN if isinstance(file, LoadedFile) else "on demand" if file.on_demand else "not loaded"
        states: list[LineState] = []
        for number, line in enumerate(lines, 1):
            fate = fates.get(number, default) + ", private" * (number in hidden)
            goes_on = states and not line.strip() and (number in hidden) == (number - 1 in hidden)
            states.append(states[-1] if goes_on else (fate, ()))
        shown = ["" if number in hidden else line for number, line in enumerate(lines, 1)]
        yield f"{label}{file.path}", 1, shown, states


def _host_section(label: str, reading: HostReading, anchors: Mapping[str, str], private: PrivateLines) -> str:
    texts = {file.path: file.text for file in reading.found}
    problems = [each for each in reading.problems if each.line not in private(each.path, texts.get(each.path, ""))]
    tables = [("Files", file_table(reading._replace(problems=problems)))]
    tables += [("Skills", skill_table(reading))] if reading.skills else []
    parts = [html.element("h2", html.words(reading.host.summary))]
    for caption, (header, rows, figures) in tables:
        cells = [[html.words(cell) for cell in row] for row in rows]
        for row, (path, *_) in zip(cells, rows, strict=True):
            if anchor := anchors.get(f"{label}{path}"):
                row[0] = html.element("a", row[0], href=f"#{anchor}")
        parts.append(html.table(caption, header, cells, figures))
    return f"<section>{chr(10).join(parts)}</section>"
