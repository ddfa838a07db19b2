"""What tests start from: workspaces made of a dict, builds in one line, and random workspaces."""

import gzip
from collections.abc import Iterable, Mapping
from datetime import date, timedelta
from functools import cache
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any
from weakref import finalize

from hypothesis import strategies as st

from contextasm.config.build import load_token_table
from contextasm.config.input.yaml_loader import load_yaml
from contextasm.config.profiles.layers import with_layer_values
from contextasm.config.profiles.loader import load_profile
from contextasm.model import (
    Build,
    Cache,
    Context,
    Document,
    Effect,
    Memory,
    Profile,
    Request,
    Rule,
    Target,
    TokenCounter,
)
from contextasm.pipeline import assemble
from contextasm.selection.tokens import ESTIMATE, exact_counter
from contextasm.text.cleaning.clean import decode_document
from contextasm.text.memories import parser
from contextasm.workspace.cache import DiskCache
from contextasm.workspace.folder import Folder
from tests.command import fill

Content = str | bytes
"""What a file holds."""

DAY = date(2025, 3, 14)
"""The day of every build in the tests."""

DEFAULT = load_profile("default", "tests", Path())


class Files(Folder):
    """A workspace that is made of a dict from path to content, in a folder that goes with it."""

    def __init__(self, files: Mapping[str, Content]) -> None:
        folder = mkdtemp()
        finalize(self, rmtree, folder)
        super().__init__(fill(Path(folder), files, base={}))


def document(content: Content, path: str = "m.md") -> Document:
    """A file as it is read."""
    read = decode_document(path, content if isinstance(content, bytes) else content.encode())
    assert isinstance(read, Document)
    return read


def request(**asked: Any) -> Request:
    """A request of agent luna in team writers, with what is asked for in other words."""
    plain = Request("luna", "writers", "", DAY, 16_000, "estimate", "markdown")
    return plain._replace(**asked)


def limited(*, marker: str = "plain", **layers: Mapping[str, Any]) -> Profile:
    """The default profile with other limits: `limited(L3={"max_tokens": 50})`."""
    changed = (with_layer_values(layer, layers.get(layer.id, {})) for layer in DEFAULT.layers)
    return DEFAULT._replace(marker=marker, layers=tuple(changed))


def build(
    files: Mapping[str, Content] | Files, profile: Profile = DEFAULT, counter: TokenCounter = ESTIMATE, **asked: Any
) -> Context:
    """The context of a workspace given as a dict, or as `Files`, which are written once for several builds."""
    workspace = files if isinstance(files, Files) else Files(files)
    return assemble(Build(workspace, profile, request(tokenizer=counter.name, **asked), counter, parse_yaml=load_yaml))


def agent(identity: str = "You are Luna.", instructions: str = "Be kind.", **more: str) -> dict[str, Content]:
    """The files of agent luna; `KNOWLEDGE="..."` adds one."""
    files = {"IDENTITY": identity, "INSTRUCTIONS": instructions, **more}
    return {f"agents/luna/{name}.md": text for name, text in files.items()}


def team(**files: str) -> dict[str, Content]:
    """Files of team writers: `team(GOALS="...")`."""
    return {f"teams/writers/{name}.md": text for name, text in files.items()}


def log(day: date | str, text: str, owner: str = "agents/luna") -> dict[str, Content]:
    """One log; `day` is its date, or its whole name without `.md`."""
    return {f"{owner}/daily/{day}.md": text}


def ago(days: int) -> date:
    """The date so many days before the day of the build."""
    return DAY - timedelta(days=days)


def section(context: Context, heading: str) -> str:
    """The text under a heading; empty where there is no such section."""
    return next((each.text for each in context.sections if each.heading == heading), "")


def headings(context: Context) -> list[str]:
    """The headings of the sections, as shown."""
    return [each.heading for each in context.sections]


def codes(context: Context) -> list[str]:
    """The codes of the problems."""
    return [problem.code for problem in context.problems]


def outcomes(context: Context, layer: str) -> dict[str, str]:
    """Outcome and reason of each fragment of a layer, by its path."""
    own = (each for each in context.decisions if each.layer == layer)
    return {each.path: f"{each.outcome}: {each.reason.code}" for each in own}


def unsaved() -> Cache:
    """A cache of only this process."""
    return DiskCache(None, "", "")


@cache
def o200k() -> TokenCounter:
    """An exact counter, loaded once for all tests."""
    return exact_counter("o200k_base", lambda: load_token_table("o200k_base"), unsaved())


counters: st.SearchStrategy[TokenCounter] = st.sampled_from((False, False, False, True)).map(
    lambda exact: o200k() if exact else ESTIMATE
)
"""One in four is exact: all that such a counter adds is that the tokens of parts do not add up."""


# Random workspaces. Blocks are drawn from a list and not letter by letter: that is fast, and shrinks to what matters.

PARAGRAPHS = (
    "One short line.",
    "A line that goes on\nand a second one under it\nand a third.",
    "word " * 60 + "end.",
    "\n".join(f"Line {n} of a longer paragraph, with some words in it." for n in range(12)),
    "x" * 90,
    "https://example.org/" + "a/b" * 40,
    "日本語の文章はここで切れることがある。" * 8,
    "한국어 문장도 있습니다, 그리고 더 길어집니다.",
    "👩‍👩‍👧‍👦" * 15,
    "e\u0301" * 50,
    "Zwischen 🇩🇪🇫🇷 und 👍🏽 steht ein Wort " * 3,
    '<|endoftext|> & <b>tags</b> ]]> "quoted"',
    "trailing blanks  \nand a tab\there",
    "... [truncated]",
)
LISTS = (
    "- one\n- two\n- three",
    "- one\n  - nested in one\n  - and another\n- two\n\n  a paragraph of two\n- three",
    "1. first\n2. second, which is a longer item that may be cut at a word\n10) tenth",
    "* [ ] open task\n* [x] done task",
)
TABLES = (
    "| name | value |\n|---|---|\n" + "\n".join(f"| row {n} | {n * n} is its square |" for n in range(9)),
    "a | b\n--|:-:\n日本 | " + "y" * 60,
)
FENCES = (
    "```python\n" + "\n".join(f"print({n})  # a line of code" for n in range(9)) + "\n```",
    "~~~~\n```\ninner\n```\n\n# no heading\n~~~~",
    "- an item with code\n  ```\n  " + "indented code " * 5 + "\n  more\n  ```",
    "```\n```",
)
OPEN_FENCES = ("```\nnever closed\n\n## no heading\nto the end", "~~~ text\n~~ not closed")
HEADINGS = ("# Title", "## Section", "## Another section ##", "### Part", "#", "###### Deepest 日本")
BLANKS = ("", "   ", "\n\n")

BLOCKS = (*PARAGRAPHS, *LISTS, *TABLES, *FENCES, *HEADINGS, *HEADINGS, *BLANKS)

FRONTS = ("", "", "", "\n\n", "---\ntitle: a page\ntags: [a, b]\n---\n", "---\nno front matter\n---\n")

texts = st.builds(
    lambda front, parts, join, end: front + join.join(parts) + end,
    st.sampled_from(FRONTS),
    st.lists(st.sampled_from(BLOCKS), max_size=10),
    st.sampled_from(("\n\n", "\n\n", "\n", "\n\n\n")),
    st.sampled_from(("\n", "", " \n\n")),
)
"""Documents of ordinary and of odd blocks; some are blank."""

LOG_NAMES = (
    *(str(ago(days)) for days in (-1, 0, 0, 1, 1, 2, 5, 7, 8, 40)),
    f"{ago(0)}-evening",
    f"{ago(0)} late",
    f"{ago(1)}-10",
    f"{ago(1)}-9",
    "2025-02-30",
    "notes",
    f"{ago(0)}0",
    f"x{ago(0)}",
)

logs = st.dictionaries(st.sampled_from(LOG_NAMES), texts, max_size=6)
"""Logs by name, some of which are no dates."""

archived = st.dictionaries(st.sampled_from(("2024-12-01", "2024-12-02", "2025-03-13")), texts, max_size=1)
"""Logs that were set aside, by name."""

MEMORY_LINES = (
    "- [decision] Use three acts",
    "- [decision] Use three acts",
    "- [preference] Short answers {importance=0.9 created=2025-03-10 id=m1}",
    "- [fact] The same id again {id=m1}",
    "- [task] Already done {status=completed}",
    "- [x] a mark, not a type",
    "- [link](https://example.org) is not a type",
    "- no type at all {created=2025-01-02}",
    "- [日本] 漢字の記憶 " + "記" * 300,
    "- [insight] long " + "word " * 400,
    "- [insight] more\n  on a second line\n  - and a sub-bullet",
    "- [code] keep this\n  ```\n  - not a memory\n  ```",
    "- [bad] values {importance=7 created=2025-13-01 colour=red}",
    "- [new] takes its place {supersedes=m1}",
    "- [note] a line of a program {writer=mcp}",
    "- [note] ticks of a program\n  ```\n  ## a heading " + "and more " * 60 + "{writer=mcp}",
    "## 2025-03-11",
    "## Other heading",
    "Loose text that is no memory.",
    "",
)

memory_lists = st.builds(
    lambda front, lines: front + "\n".join(lines) + "\n",
    st.sampled_from(("", "", "---\nimportance: high\n---\n", "---\nstatus: archived\n---\n", "---\ntype: fact\n---\n")),
    st.lists(st.sampled_from(MEMORY_LINES), max_size=8),
)
"""Files of memories."""

memory_files = st.dictionaries(st.sampled_from(("a", "b", "c", "é")), memory_lists, max_size=3)


@st.composite
def workspaces(draw: st.DrawFn) -> dict[str, Content]:
    """The files of an agent and its team; all but the two that make the agent may be missing."""
    files: dict[str, Content] = {}
    for name in ("IDENTITY", "INSTRUCTIONS"):
        files[f"agents/luna/{name}.md"] = draw(st.one_of(st.just("Short."), texts))
    optional = ("agents/luna/KNOWLEDGE", "teams/writers/GOALS", "teams/writers/CONTEXT", "teams/writers/RULES")
    for name in draw(st.lists(st.sampled_from(optional), unique=True)):
        files[f"{name}.md"] = draw(st.one_of(texts, texts, st.just(b"\xff\xfeA"), st.just(b"caf\xe9")))
    for owner in ("agents/luna", "teams/writers"):
        files |= {f"{owner}/daily/{name}.md": text for name, text in draw(logs).items()}
        archive = f"{owner}/daily/archive/2024"
        files |= {f"{archive}/{name}.md": text for name, text in draw(archived).items()}
        files |= {
            f"{archive}/{name}.md.gz": gzip.compress(text.encode(), mtime=0) for name, text in draw(archived).items()
        }
        files |= {f"{owner}/memories/{name}.md": text for name, text in draw(memory_files).items()}
    return files


_tokens = st.one_of(st.integers(0, 60), st.integers(0, 800))
_per_cent = st.one_of(st.none(), st.none(), st.integers(0, 100).map(float), st.just(33.3))

limits = {
    "max_tokens": st.one_of(st.none(), _tokens),
    "share": _per_cent,
    "ceiling": _per_cent,
    "reserve": st.one_of(st.just(0), st.just(0), _tokens),
    "reserve_share": _per_cent,
    "grow": st.booleans(),
}
"""The limits of one layer."""

topics = st.sampled_from(("", "", "a short line", "three acts in 2025", "日本語の文章 item"))
"""Topics, some of whose words are in the texts; half of the examples have none."""

budgets = st.one_of(st.integers(0, 120), st.integers(0, 1_500), st.integers(0, 20_000))


@st.composite
def profiles(draw: st.DrawFn, *, reserves: bool = True) -> Profile:
    """The default profile, some of its layers with other limits."""
    drawn = st.fixed_dictionaries({key: each for key, each in limits.items() if reserves or "reserve" not in key})
    changed = {layer.id: draw(drawn) for layer in DEFAULT.layers if not layer.limits.required and draw(st.booleans())}
    return limited(marker=draw(st.sampled_from(("plain", "detailed"))), **changed)


def rule(
    name: str = "one",
    priority: float = 0,
    *,
    include: Iterable[Target] = (),
    exclude: Iterable[Target] = (),
    boost: Iterable[tuple[Target, float]] = (),
) -> Rule:
    """A rule that always fires."""
    targets = [*(("always_include", each, 1.0) for each in include), *(("exclude", each, 1.0) for each in exclude)]
    targets += (("boost", each, weight) for each, weight in boost)
    return Rule(name, "ctxasm.yaml", 1, priority, effects=tuple(Effect(*each, (name,)) for each in targets))


def any_memories(words: st.SearchStrategy[str], **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Memory]:
    """Memories with any value of its form in each field but the given ones."""
    days = st.just("") | st.dates().map(str)
    flags = [name for name, default in parser.DEFAULTS.items() if default is False]
    values = {
        **dict.fromkeys(parser.WORDS, st.just("") | words),
        **dict.fromkeys(parser.DAYS, days),
        **dict.fromkeys(parser.LISTS, st.lists(words, max_size=3).map(tuple)),
        **dict.fromkeys(parser.NUMBERS, st.floats(0, 1)),
        **dict.fromkeys(flags, st.booleans()),
    }
    return st.builds(Memory, **{**values, "id": words, **fields})
