"""The options of a request as they are typed, and the process that they are typed in; nothing is resolved here.

`Options` is the one table of these flags: `cli` makes the command line's parameters from it.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated

from contextasm.config.input import values
from contextasm.model import ContextasmError, NamedTuple


class Flag(NamedTuple):
    """Spelling and help text of a flag of the command line: of a field of `Options`, or of one command."""

    help: str
    metavar: str = ""
    """The name of its value in help; empty for a flag without one."""
    names: str = ""
    """Further names besides `--NAME`, or, with a long name among them, all names; separated by blanks."""
    least: int | None = None
    """The least number that it takes; None for no limit."""
    most: int | None = None
    """The greatest one."""
    completed: str | Sequence[str] = ()
    """The values that a shell completes; as a text, their kind (`known_values` of `cli/commands/completion.py`)."""


Text = str | None
"""The type of an option with a value; None if it was not typed."""

Texts = tuple[str, ...]
"""The type of an option that may be repeated."""


class FileText(str):
    """The text of an option that was read from a file."""

    __slots__ = ("file",)
    file: str
    """Path of the file, absolute or relative to the current folder."""

    @classmethod
    def of(cls, text: str, file: str) -> "FileText":
        """The text that was read from this file."""
        made = cls(text)
        made.file = file
        return made


class Options(NamedTuple):
    """The typed options, unchecked; None, empty or false for each that was not typed."""

    agent: Annotated[Text, Flag("The agent (default: the only one).", "NAME", "-a", completed="agent")] = None
    team: Annotated[
        Text, Flag("The team (default: none; an empty name means none).", "NAME", "-t", completed="team")
    ] = None
    topic: Annotated[Text, Flag("The topic of the conversation (`-` reads standard input).", "TEXT")] = None
    entities: Annotated[Texts, Flag("An entity that the topic is about; repeatable.", "NAME", "--entity")] = ()
    profile: Annotated[
        Text, Flag("The profile (default: the one that fits the files).", "NAME|FILE", "-p", completed="profile")
    ] = None
    budget: Annotated[Text, Flag("The token budget, such as 8k (default: that of the profile).", "N", "-b")] = None
    tokenizer: Annotated[Text, Flag("The tokenizer (default: estimate).", "NAME", completed="tokenizer")] = None
    date: Annotated[Text, Flag("The day that counts as today (default: today).", "YYYY-MM-DD")] = None
    tz: Annotated[Text, Flag("The time zone of today's date, such as Europe/Berlin.", "ZONE")] = None
    layers: Annotated[Texts, Flag("Limit a layer to N tokens; repeatable.", "ID=N", "--layer", completed="limit")] = ()
    strategy: Annotated[Text, Flag("A named variant of the profile, such as coding.", "NAME", completed="strategy")] = (
        None
    )
    scope: Annotated[Text, Flag("Build only these layers and the required ones.", "ID,...", completed="layer")] = None
    session: Annotated[Text, Flag("The session to continue (default: the latest).", "ID", completed="session")] = None
    history: Annotated[Text, Flag("The conversation so far, as JSON (`-` reads standard input).", "FILE")] = None
    open: Annotated[Texts, Flag("A file that is open; repeatable.", "FILE", "--open --active-file")] = ()
    since: Annotated[Text, Flag("Leave out entries before this ISO date or time (UTC by default).", "DAY")] = None
    event_types: Annotated[Texts, Flag("Show only events of this type; repeatable.", "TYPE", "--event-type")] = ()
    entity_types: Annotated[Texts, Flag("Show only entities of this type; repeatable.", "TYPE", "--entity-type")] = ()
    task: Annotated[Text, Flag("Show only events of this task.", "ID", completed="task")] = None
    exclude: Annotated[
        Texts,
        Flag(
            "Leave out the fragment with this id, or the files that match; repeatable.", "ID|GLOB", completed="memory"
        ),
    ] = ()
    prefer: Annotated[Texts, Flag("The id that wins a conflict; repeatable.", "ID", completed="memory")] = ()
    show_expired: Annotated[bool, Flag("Also show memories that are expired or not valid yet, with a label.")] = False
    detail: Annotated[Text, Flag("The detail: macro, micro, atomic, or adaptive (most that fits).", "LEVEL")] = None
    min_score: Annotated[Text, Flag("Leave out fragments with a score below N (0 to 1).", "N")] = None
    deadline: Annotated[Text, Flag("Leave out layers that take longer than MS milliseconds.", "MS")] = None
    additional: Annotated[Text, Flag("Text to add, if the profile has a layer for it.", "TEXT")] = None
    request_id: Annotated[Text, Flag("A name for this request, which records and metrics contain.", "ID")] = None
    variables: Annotated[Texts, Flag("A variable for rules; repeatable.", "NAME=VALUE", "--var")] = ()
    format: Annotated[
        Text,
        Flag(
            "markdown (default), xml, json, messages, chat-openai or chat-anthropic.",
            "NAME",
            "-f",
            completed="format",
        ),
    ] = None
    privacy: Annotated[Text, Flag("Treatment of secrets: mask (default), drop (the whole text) or off.", "MODE")] = None
    audience: Annotated[
        Text, Flag("Who may read the output: personal, or shared (no private text).", "NAME", completed="audience")
    ] = None
    offline: Annotated[bool, Flag("Contact no server; read the shared memories from the local replica.")] = False
    workspace: Annotated[
        Text, Flag("The workspace (default: this folder, or the nearest workspace above it).", "DIR", "-w")
    ] = None


class ProcessEnvironment(NamedTuple):
    """Environment variables, current folder and clock of this process."""

    environment: Mapping[str, str]
    folder: str
    now: Callable[[], float]
    """Seconds since 1970; called once, and only if no option or setting names the day."""


def parse_deadline(deadline: str | None) -> float | None:
    """Seconds of `--deadline`, which is typed in milliseconds; None for no deadline."""
    if deadline is None:
        return None
    # Python reads no number of over 4,300 digits.
    if not deadline.isdecimal() or not 0 < int(deadline[:20]) <= values.LARGEST:
        raise ContextasmError(
            "--deadline", f"{deadline[:20]} is not a number of milliseconds", "give a number above 0, such as 500"
        )
    return int(deadline) / 1000


USED_IN_SEARCH = (
    *("agent", "team", "profile", "date", "tz", "strategy", "scope"),
    *("show_expired", "privacy", "audience", "offline", "workspace"),
)
"""Options of a build that mean something to a search, too."""
