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

STANDARD_ANSWER = '{"hookSpecificOutput": {"hookEventName": "EVENT", "additionalContext": "TEXT"}}'
"""The answer to a hook as most hosts take it."""


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
    window: int = 0
    """Per cent of the context window, of four characters a token, that is the limit instead if that is more."""
    most: int = 0
    """Most code points of a limit that grows with the window."""
    head: int = 100
    """Per cent of the limit that is kept of the beginning."""
    tail: int = 0
    """Per cent of the limit that is kept of the end."""
    marker: int = 0
    """Units of the limit that the host's marker takes, before head and tail share the rest."""
    trimmed: str = ""
    """`end` or `both`, if the text is measured without the blanks there; empty for all of it."""
    digest: Digest | None = None

    def at(self, tokens: int) -> Cut:
        """The limits in a context window of this size."""
        if not self.window:
            return self
        room = min(tokens * 4 * self.window // 100, self.most)
        return self._replace(codepoints=max(self.codepoints, room), window=0)


class LoadRule(NamedTuple):
    """Files that a host loads by itself, and what it keeps of them; or files that it does not load."""

    files: tuple[str, ...]
    """Paths or patterns, relative to a folder, in the order in which they are loaded."""
    folders: str = "folder"
    """`folder` for the session's, `repository` for all from the top of the repository down to it, or `outside`.

    `below` is for the folders from below the session's down to a file that the host works on.
    """
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
    limit_known: bool = True
    """Whether the host's documentation or its code says how much of the files is kept."""
    scoped: str = ""
    """Key of front matter that names the files a text is for: the host loads it when it works on one of them."""
    everything: tuple[str, ...] = ("**",)
    """Patterns of `scoped` that mean all files: the host loads such a text when a session starts."""
    always: str = ""
    """Line of front matter without which no file is loaded when a session starts, only when it is needed."""
    imports: bool = False
    """Whether the files that these import are loaded with them, as the `imports` of the host say."""
    taken_out: tuple[str, ...] = ()
    """What the host takes out of each file before it measures it: `comments` that are whole blocks, `front_matter`."""
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
    """Event at each prompt; empty if the host takes no context there."""
    unit: str
    """`chars`, UTF-16 code units, which JavaScript calls the length of a text, or `bytes`, of UTF-8."""
    limit: int
    """Most units of the text of one hook."""
    settings: str
    """File, in a project, that lists the hooks."""
    matcher: str
    """Sources of a start that the hook is for; empty for all of them."""
    source: str
    date: str
    limit_known: bool = True
    """Whether the host's documentation or its code gives the limit; else it is the least one of the other hosts."""
    layout: str = '{"hooks": "EVENTS"}'
    """JSON of the file of settings, in which `EVENTS` is replaced by the hooks by event."""
    hook: str = '{"type": "command", "command": "COMMAND", "timeout": 30}'
    """JSON of one hook, with its time in the host's own unit; `COMMAND` is replaced by its command."""
    grouped: bool = True
    """Whether the hooks of an event are in groups, each with a matcher."""
    answer: str = STANDARD_ANSWER
    """JSON of an answer, in which `EVENT` and `TEXT` are replaced by the name of the event and the context."""
    message: str = "systemMessage"
    """Key of an answer for words to the person; empty if the host takes none."""
    folder: str = "cwd"
    """Key of an event that has the session's folder, or a list of folders of which that is the first."""
    unnamed: bool = False
    """Whether events do not say their name: each is a start, since no hook is set up for any other."""
    tag: str = ""
    """Name of the XML tag around the answers at a start, if the host puts them into the first prompt that it tells."""
    agent: str = ""
    """Event at the start of a subagent, if it takes a context; empty for none, as below."""
    file: str = ""
    """Event before a tool works on a file that the event names, if it takes a context."""
    file_matcher: str = ""
    """Tools that work on one file."""
    compact: str = ""
    """Event before the session is compacted; it takes no context."""
    trust: str = ""
    """Step by which a person lets the host run hooks that are new or changed; empty if that is not known."""


class McpRule(NamedTuple):
    """The MCP client of a host."""

    client: str
    """Beginning of the name that it gives to a server."""
    bytes: int
    """Bytes of JSON that a tool's answer may have for its main text: enough less than the host takes whole."""
    source: str
    date: str


class SkillRule(NamedTuple):
    """How a host lists the skills of a session, by name and description, and what it leaves out of a list too long."""

    files: tuple[str, ...]
    """Patterns; of skills with one name, the host lists the one whose pattern is first. `~/` is the person's home."""
    source: str
    date: str
    folders: str = "folder"
    """As in `LoadRule`, for the patterns that do not begin with `~/`."""
    repeats: bool = False
    """Whether skills with one name are all listed."""
    hidden: tuple[str, ...] = ()
    """Keys of front matter with which a skill is not listed until it is asked for."""
    also: str = ""
    """Key of front matter whose text is a part of the description."""
    each: int = 0
    """Most characters of a description; 0 for no limit."""
    marker: int = 0
    """Characters of `each` that the host's marker takes."""
    strict: bool = False
    """Whether the host leaves out a skill without a description, or with one that is longer than `each`."""
    over: str = ""
    """What a list that is too long loses: the descriptions of skills that are not `used`, or of all `even`ly.

    `unknown` where no source says it, empty for a list without a limit.
    """
    share: int = 0
    """Per cent of the window that the list may take; 0 if the window does not matter."""
    window: int = 0
    """Tokens of the window if no other one is named."""
    limit: int = 0
    """Most units of the list, for any window."""
    unit: str = "chars"
    """`chars`, or `tokens` of four bytes."""
    per_token: int = 4
    """Units of the list for a token of the window."""
    most: int = 0
    """Most skills; 0 for no limit."""
    shorter: int = 0
    """Most characters of a description in a list that is too long; 0 for no limit."""
    line: str = "- NAME: DESCRIPTION"
    """A skill as it is listed; FOLDER in it is the name of its folder."""
    bare: str = "- NAME"
    """A skill without its description."""
    around: int = 0
    """Units of the list that the host's own skills and words take."""


class Host(NamedTuple):
    """A program that runs agents."""

    name: str
    summary: str
    """Name as people write it."""
    loads: tuple[LoadRule, ...]
    verified: tuple[tuple[str, str], ...] = ()
    """`version` and `date` of the last run of the host itself that these rules agreed with; empty if there was none."""
    own: tuple[str, ...] = ()
    """Files and folders that say that the host is in use: that it loads, or its settings.

    For AGENTS.md, it is one of the hosts that read it.
    """
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
    links: bool = True
    """Whether the host loads a file that is a link."""
    imports: ImportRule | None = None
    """None for a host that follows no imports."""
    hook: HookRule | None = None
    """None for a host without hooks that take a context."""
    mcp: McpRule | None = None
    """None for a host that gives an MCP server no name of its own."""
    instead: str = ""
    """How a context gets into a host without such hooks; empty if that is not known."""
    note: str = ""
    """Words about who has the host, for people who check their files for it."""

    def with_window(self, tokens: int) -> Host:
        """The host with the limits that hold in a context window of this size."""
        loads = (rule._replace(each=rule.each.at(tokens), together=rule.together.at(tokens)) for rule in self.loads)
        return self._replace(loads=tuple(loads))

    skills: SkillRule | None = None
    """None for a host without skills, or if nothing is known of them."""


def host_names(*, with_hook: bool = False, standard: bool = False) -> list[str]:
    """The names of all hosts, or only of hosts with hooks, or of hosts with hooks that take the standard answer."""
    answers = {name: hook.answer for name in shipped_hosts() if (hook := _load_shipped(name).hook)}
    names = [name for name, answer in answers.items() if answer == STANDARD_ANSWER or not standard]
    return names if with_hook or standard else shipped_hosts()


def instruction_files() -> list[str]:
    """Paths and patterns of all files in a folder that any host or other coding agent loads by itself, or did."""
    repo = load_profile("repo", "profile", SHIPPED_HOSTS)  # it names what the agents read
    rules = [rule for host in map(_load_shipped, shipped_hosts()) for rule in (*host.loads, *host.unread)]
    known = [rule.files for rule in rules if rule.folders != "outside"]
    read = [layer.query.paths for layer in repo.layers if any(each.uses_open for each in layer.query.traits)]
    return [*dict.fromkeys(path for paths in (*known, *read) for path in paths)]


def nested_files() -> list[str]:
    """Paths and patterns of files that some host loads from more folders than the session's, relative to each."""
    rules = [rule for host in map(_load_shipped, shipped_hosts()) for rule in host.loads]
    return [*dict.fromkeys(name for rule in rules if rule.folders in {"repository", "below"} for name in rule.files)]


def client_host(name: str) -> Host | None:
    """The host that gives this name to an MCP server; None for an unknown one."""
    hosts = map(_load_shipped, shipped_hosts())
    return next((host for host in hosts if host.mcp and name.startswith(host.mcp.client)), None)


def skill_files() -> list[str]:
    """Patterns of the files of skills in a folder that any host lists."""
    rules = filter(None, (host.skills for host in map(_load_shipped, shipped_hosts())))
    return [
        *dict.fromkeys(path for rule in rules for path in rule.files if path.endswith("/SKILL.md") and path[0] != "~")
    ]


def load_host(name: str, where: str) -> Host:
    """The host of this name; `where` is the option that names it. Raises `ContextasmError` for an unknown one."""
    return _load_shipped(values.require_known(name, shipped_hosts(), where, "host"))


@cache
def _load_shipped(name: str) -> Host:
    file = SHIPPED_HOSTS / f"{name}.yaml"
    host: Host = from_json(Host, load_mapping(read_file(str(file), file.name), file.name) | {"name": name}, file.name)
    return host
