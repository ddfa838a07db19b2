"""How much a context for OpenClaw holds of what is asked: `python benchmarks/openclaw.py [--smoke] [--show]`.

Ten made-up workspaces, each of at least 100 dated notes and 300 KB, with root files of usual size: the same bytes each
time, made of openclaw-facts.toml in a temporary folder. 60 lines were drawn from them by a seed (`--draw` prints them),
and a question to each was written by hand (openclaw-questions.jsonl). A question that shares more than half of its
line's words is refused. A line counts if it is whole in the context of that question, a row of a table or of a fence
if the row is whole. BM25 packs the lines of notes and of MEMORY.md into the same budget, without any other file.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from pathlib import Path
from statistics import fmean
from typing import Any, Final, NamedTuple

from baselines import HEAD, SNOWBALL, snowball_words
from conversations import Conversation, Line, Question
from warm import WarmCommand

from contextasm.retrieval.search.inverted_index import STOP, analyze

BUDGETS: Final = (1000, 2000, 4000, 8000, 16_000)
HERE: Final = Path(__file__).parent
QUESTIONS: Final = HERE / "openclaw-questions.jsonl"
LONG_TERM: Final = "MEMORY.md"
FIRST_DAY: Final = date(2025, 11, 3)
NOTES: Final = 104
TOPIC_NOTES: Final = 10
BYTES: Final = 310_000
ROOT_CHARS: Final = 8000
MARK: Final = re.compile(r"(?:[-*] (?:\[.\] )?|\d+\. |> )?")
WEEKDAYS: Final = "Monday; Tuesday; Wednesday; Thursday; Friday; Saturday"
MONTHS: Final = "January; February; March; April; May; June; July; August; September; October; November; December"


class Habit(NamedTuple):
    """How somebody writes notes."""

    kinds: str
    """The kinds of a section, each as often as it is meant to occur."""
    heading: str
    """Of a section."""
    archived: int
    """Number of the oldest notes that are in the archive."""
    bullet: str = "- "


HABITS: Final = (
    Habit("bullets bullets bullets table prose", "## {project}", 0),
    Habit("timed timed fence bullets table", "## {time} {project}", 30),
    Habit("prose prose prose bullets table", "## {place}", 0),
    Habit("bullets todo table fence prose", "## Notes", 50),
    Habit("prose bullets labels labels table", "### {project}: {thing}", 20, "* "),
)


class Maker:
    """Fills templates with the facts of one layout."""

    def __init__(self, facts: Mapping[str, Any], number: int) -> None:
        self.layout: Mapping[str, str] = facts["layout"][number]
        self.templates: Mapping[str, str] = facts["templates"]
        self.chance = random.Random(1000 + number)  # noqa: S311 (no secret: the same layouts each time)
        shared = facts["shared"]
        names = {"agentry": "agentry", "house": "chore_thing"}
        lists = {names.get(name, name.removesuffix("s")): text for name, text in (shared | self.layout).items()}
        lists |= {"person": self.layout["people"], "weekday": WEEKDAYS, "month": MONTHS}
        self.lists = {name: entries(text) for name, text in lists.items()}

    def pick(self, values: Sequence[str]) -> str:
        """One of the values."""
        return values[int(self.chance.random() * len(values))]

    def number(self, least: int, most: int) -> int:
        """A whole number in these bounds."""
        return least + int(self.chance.random() * (most - least + 1))

    def line(self, templates: str) -> str:
        """A sentence by one of the templates of this name."""
        text = self.fill(self.pick(entries(self.templates[templates])))
        return text if text.startswith(("|", "0", "1", "2")) or templates == "fence" else text[0].upper() + text[1:]

    def fill(self, template: str) -> str:
        """A template with its names filled in, and those in what was filled in."""
        return re.sub(r"\{(\w+)\}", lambda match: self.fill(self.value(match[1])), template)

    def value(self, name: str) -> str:
        """Something for a name: made up if it is a number, else an entry of its list."""
        make = MADE_UP.get(name)
        return make(self) if make else self.pick(self.lists[name])

    def section(self, habit: Habit) -> Iterator[str]:
        """The lines of a section of a note."""
        yield from (self.fill(habit.heading), "")
        kind = self.pick(habit.kinds.split())
        count = self.number(4, 9)
        if kind == "table":
            yield from self.table(count)
        elif kind == "fence":
            rows = [self.line("fence") for _ in range(count)]
            yield from ("```", f"$ {self.value('command')}", *rows, "```")
        elif kind == "prose":
            for _ in range(count // 2):
                yield from (". ".join(self.line("notes") for _ in range(self.number(1, 3))) + ".", "")
        else:
            starts = {"timed": "{time} - ", "todo": "[ ] ", "labels": "**{thing}:** "}
            yield from (habit.bullet + self.fill(starts.get(kind, "")) + self.line("notes") for _ in range(count))
        yield ""

    def table(self, count: int) -> Iterator[str]:
        """A table with a head."""
        kind, head = self.pick(
            (
                "table_costs:| What | From | Cost | Remark |",
                "table_people:| Name | Where | When | About |",
                "table_state:| Item | State | Who | Remark |",
            )
        ).split(":")
        yield from (head, "|---|---|---|---|", *(self.line(kind) for _ in range(count)))

    def text(self, title: str, templates: str, size: int) -> str:
        """A root file: bullets below headings."""
        lines = [f"# {title}", ""]
        while sum(map(len, lines)) < size:
            lines += [f"## {self.fill(self.pick(('{project}', '{place}', '{thing}')))}", ""]
            lines += [*(f"- {self.line(templates)}." for _ in range(self.number(5, 9))), ""]
        return "\n".join(lines)


def file_name(maker: Maker) -> str:
    """The path of a file of a project."""
    words = f"{maker.value('project')}/{maker.value('thing')}".lower().replace(" ", "-")
    return words + maker.pick((".md", ".csv", ".pdf", "-v2.md"))


SUBJECTS: Final = ("{thing}", "{thing} for {surname}", "{thing} in {place}", "{project} {thing}")
MADE_UP: Final[Mapping[str, Callable[[Maker], str]]] = {
    "subject": lambda maker: maker.pick(SUBJECTS),
    "money": lambda maker: f"€{maker.number(12, 4800):,}",
    "number": lambda maker: str(maker.number(3, 480)),
    "percent": lambda maker: str(5 * maker.number(1, 19)),
    "version": lambda maker: f"{maker.number(0, 6)}.{maker.number(0, 19)}.{maker.number(0, 9)}",
    "ordinal": lambda maker: f"{maker.number(4, 20)}th",
    "time": lambda maker: f"{maker.number(6, 22):02}:{maker.number(0, 59):02}",
    "file": file_name,
}
"""Names in templates that stand for no list of facts."""


def entries(text: str) -> list[str]:
    """The entries of a list in the facts."""
    return [" ".join(entry.split()) for entry in text.split(";") if entry.strip()]


def layout(facts: Mapping[str, Any], number: int) -> dict[str, str]:
    """The files of a layout by path."""
    maker, habit = Maker(facts, number), HABITS[number % len(HABITS)]
    owner, people = maker.layout["owner"], ", ".join(maker.lists["person"])
    files = {
        "SOUL.md": maker.text(f"Who you are to {owner}", "root", ROOT_CHARS),
        "AGENTS.md": maker.text("How work is done here", "root", ROOT_CHARS),
        LONG_TERM: maker.text("What is to be kept", "memory", maker.number(15_000, 24_000)),
        "IDENTITY.md": f"# Identity\n\n- Name: {maker.pick(('Pip', 'Moss', 'Echo', 'Juno'))}\n- Vibe: calm, exact\n",
        "USER.md": f"# User\n\n- Name: {owner}\n- Around: {people}\n- Projects: {maker.layout['projects']}\n",
        "TOOLS.md": "# Tools\n\n" + "".join(f"- `{command}`\n" for command in maker.lists["command"]),
        "HEARTBEAT.md": f"# Heartbeat\n\n- {maker.line('notes')}\n",
    }
    names = [f"{FIRST_DAY + timedelta(days=at)}" for at in range(NOTES)]
    archived = [f"memory/archive/{name[:7]}/{name}.md" for name in names[: habit.archived]]
    topics = [f"{maker.pick(names)}-{maker.value('thing').lower().replace(' ', '-')}" for _ in range(TOPIC_NOTES)]
    paths = [*archived, *(f"memory/{name}.md" for name in (*names[habit.archived :], *topics))]
    for at, path in enumerate(paths):
        files[path] = note(maker, habit, path, BYTES * (at + 1) // len(paths) - size_of(files, "memory/"))
    return files


def note(maker: Maker, habit: Habit, path: str, size: int) -> str:
    """A dated note of about this size."""
    text = f"# {Path(path).stem}\n\n"
    while len(text) < size:
        text += "\n".join(maker.section(habit)) + "\n"
    return text


def size_of(files: Mapping[str, str], prefix: str) -> int:
    """Bytes of the files whose path begins with a prefix."""
    return sum(len(text.encode()) for path, text in files.items() if path.startswith(prefix))


def lines_of(files: Mapping[str, str]) -> Iterator[Line]:
    """The lines of notes and of MEMORY.md that say something: no headings, heads of tables, and marks of fences."""
    for path, text in files.items():
        if path.startswith("memory/") or path == LONG_TERM:
            rows = text.split("\n")
            for number, row in enumerate(rows, start=1):
                is_head = row.startswith(("#", "```", "|--")) or "\n".join(rows[number : number + 1]).startswith("|--")
                if row and not is_head:
                    mark = MARK.match(row)
                    words = row[mark.end() :] if mark else row
                    yield Line(f"{path}:{number}", path, number, path[-13:-3], row[: -len(words)], words)


def conversation(name: str, files: Mapping[str, str]) -> Conversation:
    """A layout for the baselines, which begin with two files that a layout does not have."""
    return Conversation(name, dict.fromkeys(HEAD, ""), tuple(lines_of(files)), str(FIRST_DAY + timedelta(days=NOTES)))


def content_words(text: str) -> set[str]:
    """The words of a text that carry its sense."""
    return {word for word in snowball_words(" ".join(word for word in analyze(text) if word not in STOP)) if word}


def draw(made: Conversation, number: int) -> Iterator[Line]:
    """Six lines of a layout by lot, no two alike: four of notes, one of MEMORY.md, one of a table or a fence."""
    chance = random.Random(7000 + number)  # noqa: S311 (no secret: the same lines each time)
    often = Counter(line.words for line in made.lines)
    usable = [line for line in made.lines if often[line.words] == 1 and 7 <= len(content_words(line.words)) <= 24]
    long_term = [line for line in usable if line.path == LONG_TERM]
    rows = [line for line in usable if line.path != LONG_TERM and not line.mark and not line.words.endswith(".")]
    others = [line for line in usable if line.path != LONG_TERM and line not in rows]
    for lines, count in ((others, 4), (long_term, 1), (rows, 1)):
        yield from (lines[int(chance.random() * len(lines))] for _ in range(count))


def checked(row: Mapping[str, str], made: Conversation) -> Question:
    """A question about a layout; refused if its line is not there once, or if it repeats more than half of it."""
    ids = [line.id for line in made.lines if line.words == row["line"]]
    if len(ids) != 1 or not ids[0].startswith(f"{row['path']}:"):
        raise SystemExit(f"{made.name}: {row['path']} does not have this line, or another has it: {row['line']}")
    words = content_words(row["line"])
    if 2 * len(words & content_words(row["question"])) > len(words):
        raise SystemExit(f"{made.name}: more than half of the words of its line: {row['question']}")
    return Question(made.name, row["question"], (frozenset(ids),))


def main() -> None:
    """Write the layouts, and ask."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--python", type=Path, default=Path(sys.executable), help="interpreter that has ctxasm")
    parser.add_argument("--smoke", action="store_true", help="one layout, one budget")
    parser.add_argument("--show", action="store_true", help="print the questions that are missed, by budget")
    parser.add_argument("--draw", action="store_true", help="print the lines that questions are to be written to")
    chosen = parser.parse_args()
    facts = tomllib.loads((HERE / "openclaw-facts.toml").read_text(encoding="utf-8"))
    layouts = {row["name"]: layout(facts, at) for at, row in enumerate(facts["layout"][: 1 if chosen.smoke else None])}
    made = {name: conversation(name, files) for name, files in layouts.items()}
    if chosen.draw:
        for at, (name, each) in enumerate(made.items()):
            for line in draw(each, at):
                print(json.dumps({"layout": name, "path": line.path, "line": line.words}, ensure_ascii=False))
        return
    rows = [json.loads(row) for row in QUESTIONS.read_text(encoding="utf-8").splitlines()]
    questions = [checked(row, made[row["layout"]]) for row in rows if row["layout"] in made]
    budgets = BUDGETS[1:2] if chosen.smoke else BUDGETS
    print(f"{len(layouts)} layouts, {len(questions)} questions" + "".join(f"{budget:8}" for budget in budgets))
    show("BM25, lines packed", [[bm25(made, each, budget) for each in questions] for budget in budgets])
    ask = WarmCommand(chosen.python)
    with tempfile.TemporaryDirectory() as folder:
        for name, files in layouts.items():
            made[name]._replace(files=files).write(Path(folder) / name)
        held = [[asked(ask, Path(folder), made, each, budget) for each in questions] for budget in budgets]
    ask.close()
    show("ctxasm, openclaw", held)
    for at, budget in enumerate(budgets if chosen.show else ()):
        for question, is_held in zip(questions, held[at], strict=True):
            print("" if is_held else f"{budget} missed: {question.conversation}: {question.text}\n", end="")


def show(label: str, columns: Sequence[Sequence[float]]) -> None:
    """Print the share of questions whose line is held, for each budget, in per cent."""
    print(f"{label:27}" + "".join(f"{100 * fmean(column):8.1f}" for column in columns), flush=True)


def bm25(made: Mapping[str, Conversation], question: Question, budget: int) -> float:
    """Whether BM25's best lines hold it."""
    own = made[question.conversation]
    return question.recall(own.shown(SNOWBALL(own, question, budget)))


def asked(ask: WarmCommand, folder: Path, made: Mapping[str, Conversation], question: Question, budget: int) -> float:
    """Whether a build holds it."""
    own = made[question.conversation]
    words = ["build", "-q", "-p", "openclaw", "-b", str(budget), "--date", own.today, "--topic", question.text]
    code, out, err = ask(*words, "-w", str(folder / own.name))
    if code not in (0, 3) or "Traceback" in err:
        raise SystemExit(f"ctxasm {' '.join(words)}: exit {code}: {err.strip()}")
    return question.recall(own.shown(out))


if __name__ == "__main__":
    main()
