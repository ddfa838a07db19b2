"""Hosts: programs that run agents, with what they load by themselves and what they cut, as YAML files of this package.

Every rule has its source and its date, because hosts change their limits. Nothing of a host is known anywhere else. The
types below say which keys the files have; `tests/checks/hosts/test_host.py` checks their values.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from contextasm.config.input import values
from contextasm.config.input.yaml_loader import load_mapping
from contextasm.config.profiles.loader import load_profile, read_file
from contextasm.model import NamedTuple
from contextasm.rendering.json_codec import from_json
from contextasm.workspace.reads import folder_entries

SHIPPED_HOSTS = Path(__file__).parent


def shipped_hosts() -> list[str]:
    """The names of all hosts, in the order of the alphabet."""
    names = (each.name for each in folder_entries(str(SHIPPED_HOSTS)))  # a hook may be for all of them
    return sorted(name.removesuffix(".yaml") for name in names if name.endswith(".yaml"))


class Digest(NamedTuple):
    """Lines of a whole text that a host shows between the ends of what it cuts."""

    share: int
    """Per cent of the limit that they may take."""
    line: int
    """Most characters of one line."""
    first: tuple[str, ...] = ()
    """Words, in any case; lines with one of them are chosen before others."""
    words: tuple[str, ...] = ()
    """Words that make a line one to be chosen, as the ones of `first` do; headings and items of lists always are."""
    marker: int = 0
    """Units of a total that the host's own lines around the digest take."""


class Cut(NamedTuple):
    """Limits of a text, of which 0 means no limit; above any of them only its ends are kept, and a digest."""

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
    """`end` or `both`, if the text is measured without the blanks there; empty for all of it."""
    digest: Digest | None = None


class LoadRule(NamedTuple):
    """Files that a host loads by itself, and what it keeps of them; or files that it does not load."""

    files: tuple[str, ...]
    """Paths or patterns, relative to a folder, in the order in which they are loaded."""
    folders: str = "folder"
    """`folder` for the session's, `repository` for all from the top of the repository down to it, or `outside`."""
    first_only: bool = False
    """Whether only the first of `files` that is there is loaded from a folder."""
    blank_wins: bool = False
    """Whether a blank file may be the first one, so that nothing is loaded from its folder."""
    nearest: bool = False
    """Whether only the folder that is nearest to the session's counts."""
    choice: str = ""
    """Of the rules with one name, only the first that finds a file is used; empty for a rule on its own."""
    each: Cut = Cut()
    together: Cut = Cut()
    """Limits of all files of the rule one after another, after the limits of each."""
    title: str = ""
    """Line that the host puts before each file, with an empty one, and measures with it.

    PATH in it is the path of the file from the session's folder, NAME its name.
    """
    spaced: bool = False
    """Whether an empty line follows each file, which the limits of `together` count."""
    scoped: str = ""
    """Key of front matter that names the files a text is for: the host loads it when it works on one of them."""
    imports: bool = False
    """Whether the files that these import are loaded with them, as the `imports` of the host say."""
    taken_out: tuple[str, ...] = ()
    """What the host takes out of each file before it measures it: `comments` that stand as blocks, `front_matter`."""
    place: str = ""
    """Usual path of a file outside the folder."""
    why: str = ""
    """Reason why the host does not load the files, though people expect it to."""
    source: str = ""
    date: str = ""
    """Month of the source, YYYY-MM."""


class ImportRule(NamedTuple):
    """The words of a text that a host takes for imports, which are fewer or more than a build follows."""

    pattern: str
    """Regular expression for a line without code spans; its first group is the path."""
    depth: int
    """Most imports that lead from a loaded file to another one."""
    endings: tuple[str, ...] = ()
    """Endings of the files that are read, in lower case; empty for all. A name without an ending has any."""
    in_html: bool = False
    """Whether imports in comments and other HTML count."""
    in_indented: bool = False
    """Whether imports in indented code count."""


class HookRule(NamedTuple):
    """The hooks of a host: their events, the limit of their output, and the file that sets them up."""

    start: str
    """Event at the start of a session."""
    prompt: str
    """Event at each prompt."""
    unit: str
    """`chars`, UTF-16 code units, which JavaScript calls the length of a text, or `bytes`, of UTF-8."""
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
    tag: str = ""
    """Name of the XML tag around the answers at a start, if the host puts them into the first prompt that it tells."""


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
    unread: tuple[LoadRule, ...] = ()
    """Files that the host does not load."""
    not_looked_at: tuple[str, ...] = ()
    """Other things that the host may load, which no rule here knows."""
    python_text: bool = False
    """Whether the host drops a byte order mark and reads `\\r\\n` as one line end, as Python does with text files."""
    imports: ImportRule | None = None
    """None for a host that follows no imports."""
    hook: HookRule | None = None
    """None for a host without hooks that take a context."""
    instead: str = ""
    """How a context gets into a host without such hooks; empty if that is not known."""


def host_names(*, with_hook: bool = False) -> list[str]:
    """The names of all hosts, or only of hosts with hooks."""
    names = shipped_hosts()
    return [name for name in names if load_host(name, "").hook] if with_hook else names


def instruction_files() -> list[str]:
    """Paths and patterns of all files in a folder that any host or other coding agent loads by itself, or did."""
    repo = load_profile("repo", "profile", SHIPPED_HOSTS)  # it names what the agents read
    known = [rule.files for host in map(_load_shipped, shipped_hosts()) for rule in (*host.loads, *host.unread)]
    read = [layer.query.paths for layer in repo.layers if any(each.uses_open for each in layer.query.traits)]
    return [*dict.fromkeys(path for paths in (*known, *read) for path in paths)]


def load_host(name: str, where: str) -> Host:
    """The host of this name; `where` is the option that names it. Raises `ContextasmError` for an unknown one."""
    return _load_shipped(values.require_known(name, shipped_hosts(), where, "host"))


@cache
def _load_shipped(name: str) -> Host:
    file = SHIPPED_HOSTS / f"{name}.yaml"
    host: Host = from_json(Host, load_mapping(read_file(str(file), file.name), file.name) | {"name": name}, file.name)
    return host
