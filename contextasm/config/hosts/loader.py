"""Hosts: programs that run agents, with what they load by themselves and what they cut, as YAML files of this package.

Every rule has its source and its date, because hosts change their limits. Nothing of a host is known anywhere else.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from contextasm.config.input import values
from contextasm.config.input.yaml_loader import YamlMapping, load_mapping, parse_mapping, parse_sequence
from contextasm.config.profiles.loader import read_file
from contextasm.model import ContextasmError

SHIPPED_HOSTS = Path(__file__).parent


def shipped_hosts() -> list[str]:
    """The names of all hosts, in the order of the alphabet."""
    return sorted(path.stem for path in SHIPPED_HOSTS.glob("*.yaml"))


UNITS = ("chars", "bytes")
"""Units of a hook's limit: UTF-16 code units, which JavaScript calls the length of a text, or bytes of UTF-8."""

TRIMS = ("end", "both")
"""Ends of a text of which a host takes blanks away."""


class Digest(NamedTuple):
    """Lines of a whole text that a host shows between the ends of what it cuts."""

    share: int
    """Per cent of the limit that they may take."""
    line: int
    """Most characters of one line."""
    first: tuple[str, ...] = ()
    """Words, in any case; lines with one of them are chosen before others."""
    words: tuple[str, ...] = ()
    """Words that make a line one to be chosen, as those of `first` do; headings and items of lists always are."""


class Cut(NamedTuple):
    """Limits of a text, of which 0 stands for none; above any of them only its ends are kept, and a digest."""

    chars: int = 0
    """UTF-16 code units."""
    codepoints: int = 0
    """Code points, which Python calls the length of a text."""
    bytes: int = 0
    """Bytes of UTF-8."""
    lines: int = 0
    head: int = 100
    """Per cent of the limit that is kept of the beginning."""
    tail: int = 0
    """Per cent of the limit that is kept of the end."""
    marker: int = 0
    """Units of the limit that the host's marker takes, before head and tail share the rest."""
    trimmed: str = ""
    """One of `TRIMS`, if the text is measured without the blanks there; empty for all of it."""
    digest: Digest | None = None


class LoadRule(NamedTuple):
    """Files that a host loads by itself, and what it keeps of them."""

    files: tuple[str, ...]
    """Paths or patterns, relative to a folder, in the order in which they are loaded."""
    folders: str = "folder"
    """`folder` for the session's, `repository` for all from the top of the repository down to it, or `outside`."""
    first_only: bool = False
    """Whether only the first of `files` that is there is loaded from a folder."""
    nearest: bool = False
    """Whether only the folder that is nearest to the session's counts."""
    choice: str = ""
    """Of the rules with one name, only the first that finds a file is used; empty for a rule on its own."""
    each: Cut = Cut()
    together: Cut = Cut()
    """Limits of all files of the rule behind each other, after those of each."""
    title: str = ""
    """Line that the host puts before each file, with an empty one, and measures with it; PATH in it is the file's."""
    spaced: bool = False
    """Whether an empty line is behind each file, which the limits of `together` count."""
    scoped: str = ""
    """Key of front matter that names the files a text is for: the host loads it when it works on one of them."""
    imports: bool = False
    """Whether the files that `@imports` in these name are loaded with them."""
    place: str = ""
    """Usual path of a file outside the folder."""
    source: str = ""
    date: str = ""
    """Month of the source, YYYY-MM."""


class UnreadRule(NamedTuple):
    """Files that a host does not load, though people expect it to."""

    files: tuple[str, ...]
    why: str
    source: str
    date: str


class HookRule(NamedTuple):
    """The hooks of a host: their events, the limit of their output, and the file that sets them up."""

    start: str
    """Event at the start of a session."""
    prompt: str
    """Event at each prompt."""
    unit: str
    """One of `UNITS`."""
    limit: int
    """Most units of the text of one hook."""
    settings: str
    """File, in a project, that lists the hooks."""
    matcher: str
    """Sources of a start that the hook is for; empty for all of them."""
    timeout: int
    """In the host's own unit."""
    source: str
    date: str


class Host(NamedTuple):
    """A program that runs agents."""

    name: str
    summary: str
    """Name as people write it."""
    loads: tuple[LoadRule, ...]
    total: int = 0
    """Most characters of all files together; 0 for no limit."""
    least: int = 0
    """Characters below which what is left of `total` is not used."""
    unread: tuple[UnreadRule, ...] = ()
    not_looked_at: tuple[str, ...] = ()
    """What the host may load besides, and no rule here knows."""
    python_text: bool = False
    """Whether the host drops a byte order mark and reads `\\r\\n` as one line end, as Python does with text files."""
    hook: HookRule | None = None
    """None for a host without hooks that take a context."""


def host_names(*, with_hook: bool = False) -> list[str]:
    """The names of all hosts, or of those that have hooks."""
    names = shipped_hosts()
    return [name for name in names if load_host(name, "").hook] if with_hook else names


def load_host(name: str, where: str) -> Host:
    """The host of this name; `where` is the option that names it. Raises `ContextasmError` for an unknown one."""
    return _load_shipped(values.require_known(name, shipped_hosts(), where, "host"))


@cache
def _load_shipped(name: str) -> Host:
    path = SHIPPED_HOSTS / f"{name}.yaml"
    table = load_mapping(read_file(path, path.name), path.name)
    table.refuse_unknown(("summary", "loads", "total", "unread", "not_looked_at", "python_text", "hook"))
    total = parse_mapping(table["total"], table.where("total")) if "total" in table else YamlMapping(path.name, 1)
    limits = total.parsed({"chars": values.parse_count, "least": values.parse_count})
    return Host(
        name,
        values.parse_text(table.get("summary"), table.where("summary")),
        tuple(_load_rule(item) for item in _items(table, "loads")),
        limits.get("chars", 0),
        limits.get("least", 0),
        tuple(_parsed(item, UnreadRule, _UNREAD_KEYS) for item in _items(table, "unread")),
        values.parse_texts(table.get("not_looked_at", []), table.where("not_looked_at")),
        values.parse_flag(table.get("python_text", False), table.where("python_text")),
        _parsed(table["hook"], HookRule, _HOOK_KEYS) if "hook" in table else None,
    )


def _items(table: YamlMapping, key: str) -> list[object]:
    return [*parse_sequence(table[key], table.where(key))] if key in table else []


def _parse_cut(value: object, where: str) -> Cut:
    return Cut(**parse_mapping(value, where).parsed(_CUT_KEYS))


def _parse_digest(value: object, where: str) -> Digest:
    return Digest(**parse_mapping(value, where).parsed(_DIGEST_KEYS))


_DIGEST_KEYS: dict[str, values.ParseValue] = {
    "share": values.parse_count,
    "line": values.parse_count,
    "first": values.parse_texts,
    "words": values.parse_texts,
}

_CUT_KEYS: dict[str, values.ParseValue] = {
    **dict.fromkeys(("chars", "codepoints", "bytes", "lines", "head", "tail", "marker"), values.parse_count),
    "trimmed": values.one_of(TRIMS),
    "digest": _parse_digest,
}


_FACT_KEYS: dict[str, values.ParseValue] = {"source": values.parse_text, "date": values.parse_text}

_LOAD_KEYS: dict[str, values.ParseValue] = {
    "files": values.parse_inner_paths,
    "from": values.one_of(("folder", "repository", "outside")),
    "take": values.one_of(("all", "first")),
    "nearest": values.parse_flag,
    "choice": values.parse_text,
    "each": _parse_cut,
    "together": _parse_cut,
    "title": values.parse_text,
    "spaced": values.parse_flag,
    "scoped": values.parse_text,
    "imports": values.parse_flag,
    "place": values.parse_text,
    **_FACT_KEYS,
}

_UNREAD_KEYS: dict[str, values.ParseValue] = {
    "files": values.parse_inner_paths,
    "why": values.parse_text,
    **_FACT_KEYS,
}

_HOOK_KEYS: dict[str, values.ParseValue] = {
    "start": values.parse_text,
    "prompt": values.parse_text,
    "unit": values.one_of(UNITS),
    "limit": values.parse_count,
    "settings": values.parse_text,
    "matcher": values.parse_text,
    "timeout": values.parse_count,
    **_FACT_KEYS,
}


def _load_rule(item: object) -> LoadRule:
    keys = parse_mapping(item, "hosts").parsed(_LOAD_KEYS)
    _require_facts(item)
    first_only = keys.pop("take", "all") == "first"
    return LoadRule(folders=keys.pop("from", "folder"), first_only=first_only, **keys)


def _parsed(item: object, kind: Callable[..., Any], keys: dict[str, values.ParseValue]) -> Any:
    fields = parse_mapping(item, "hosts").parsed(keys)
    _require_facts(item)
    return kind(**fields)


def _require_facts(item: object) -> None:
    """Raise `ContextasmError` for a rule without a source or a date."""
    table = parse_mapping(item, "hosts")
    for key in _FACT_KEYS:
        if not table.get(key):
            raise ContextasmError(table.where(), f"a rule without {key}", "say where it is from, and of which month")
