"""The options of a request as they are typed, and the process that they are typed in; nothing is resolved here.

`Options` is the one table of these flags: `cli` makes the command line's parameters from it.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated

from contextasm.config.input import values
from contextasm.model import ContextasmError, NamedTuple


class Flag(NamedTuple):
    """Spelling and help text of a flag of the command line: of a field of `Options`, or of one command."""

    names: str
    """Further names besides `--NAME`, or, with a long name among them, all names; separated by blanks."""
    metavar: str
    help: str
    least: int | None = None
    """The least number that it takes; None for no limit."""
    most: int | None = None
    """The greatest one."""
    completed: bool = False
    """Whether a shell completes its values (`cli/commands/completion.py`)."""


class Options(NamedTuple):
    """The typed options, unchecked; None, empty or false for each that was not typed."""

    agent: Annotated[str | None, Flag("-a", "NAME", "The agent (default: the only one).", completed=True)] = None
    team: Annotated[
        str | None, Flag("-t", "NAME", "The team (default: none; so is an empty name).", completed=True)
    ] = None
    topic: Annotated[str | None, Flag("", "TEXT", "The topic of the conversation; - reads standard input.")] = None
    profile: Annotated[
        str | None, Flag("-p", "NAME|FILE", "The profile (default: by the files here).", completed=True)
    ] = None
    budget: Annotated[str | None, Flag("-b", "N", "Tokens of the document, such as 8k (default: by profile).")] = None
    tokenizer: Annotated[str | None, Flag("", "NAME", "The tokenizer (default: estimate).", completed=True)] = None
    date: Annotated[str | None, Flag("", "YYYY-MM-DD", "The day that counts as today (default: today).")] = None
    tz: Annotated[str | None, Flag("", "ZONE", "The time zone of the current date, such as Europe/Berlin.")] = None
    layers: Annotated[tuple[str, ...], Flag("--layer", "ID=N", "Limit a layer to N tokens; repeatable.")] = ()
    strategy: Annotated[str | None, Flag("", "NAME", "A named variant of the profile, such as coding.")] = None
    scope: Annotated[str | None, Flag("", "ID,...", "Build only these layers and the required ones.")] = None
    session: Annotated[str | None, Flag("", "ID", "The session to continue (default: the latest).")] = None
    open: Annotated[tuple[str, ...], Flag("--open --active-file", "FILE", "A file that is open; repeatable.")] = ()
    since: Annotated[str | None, Flag("", "YYYY-MM-DD", "Leave out entries dated before this day.")] = None
    event_types: Annotated[tuple[str, ...], Flag("--event-type", "TYPE", "Only events of this type; repeatable.")] = ()
    entity_types: Annotated[
        tuple[str, ...], Flag("--entity-type", "TYPE", "Only entities of this type; repeatable.")
    ] = ()
    exclude: Annotated[tuple[str, ...], Flag("", "ID|GLOB", "Leave out this id or these files; repeatable.")] = ()
    prefer: Annotated[tuple[str, ...], Flag("", "ID", "The id that wins a conflict; repeatable.")] = ()
    show_expired: Annotated[bool, Flag("", "", "Show memories outside their days, too, each with a label.")] = False
    deadline: Annotated[str | None, Flag("", "MS", "Leave out what is not found within MS milliseconds.")] = None
    additional: Annotated[str | None, Flag("", "TEXT", "Text to add where the profile has a place for it.")] = None
    variables: Annotated[tuple[str, ...], Flag("--var", "NAME=VALUE", "A variable for rules; repeatable.")] = ()
    format: Annotated[str | None, Flag("-f", "NAME", "markdown (default), xml, json or messages.", completed=True)] = (
        None
    )
    privacy: Annotated[str | None, Flag("", "MODE", "Secrets: mask (default), drop what holds one, or off.")] = None
    audience: Annotated[
        str | None, Flag("", "NAME", "personal, or shared, which leaves out what is private.", completed=True)
    ] = None
    offline: Annotated[bool, Flag("", "", "Ask no server: read the shared store's replica as it is.")] = False
    workspace: Annotated[str | None, Flag("-w", "DIR", "The workspace (default: the nearest one upwards).")] = None


GROUPS: Mapping[str, Sequence[str]] = {
    "Who": ("agent", "team", "workspace", "audience", "offline"),
    "Text and limits": (
        *("topic", "profile", "strategy", "budget", "layers", "tokenizer", "date", "tz", "format", "privacy"),
        *("additional", "deadline", "show_expired"),
    ),
    "Selection": ("scope", "session", "open", "since", "event_types", "entity_types", "exclude", "prefer", "variables"),
}
"""The headings of these flags in the help of commands that have many."""


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
            "--deadline", f"{deadline[:20]} is not a number of milliseconds", "give one above 0, such as 500"
        )
    return int(deadline) / 1000


def is_lock_required(environment: Mapping[str, str]) -> bool:
    """Whether the environment asks for builds of approved files only (`config/approval.py`)."""
    return environment.get("CTXASM_LOCKED", "0") not in {"", "0"}


UNUSED_IN_SEARCH = (
    *("topic", "budget", "tokenizer", "layers", "session", "open", "since", "event_types", "entity_types", "exclude"),
    *("prefer", "deadline", "additional", "variables", "format"),
)
"""Options of a build that mean nothing to a search."""
