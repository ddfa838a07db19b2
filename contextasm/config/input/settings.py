"""Settings: values of the command line, the environment and `ctxasm.yaml`, each with its origin."""

from collections.abc import Mapping
from datetime import date

from contextasm.config.input import values
from contextasm.config.input.values import ParseValue
from contextasm.config.input.yaml_loader import YamlMapping, load_mapping
from contextasm.model import AUDIENCES, PERSONAL, SHARED, ContextasmError, Document, NamedTuple, Problem, Workspace
from contextasm.rendering.formats import FORMATS
from contextasm.selection.tokens import TOKENIZERS

FILE = "ctxasm.yaml"

PRIVACY = ("mask", "drop", "off")
"""Treatments of secrets in texts: masked; masked, and optional fragments with one left out; shown."""

LOCK_FILE = "ctxasm.lock"
"""File with the digests of the files that instruct an agent."""


SETTINGS: dict[str, ParseValue] = {
    "agent": values.parse_name,
    "team": values.parse_name,
    "profile": values.parse_text,
    "strategy": values.parse_text,
    "budget": values.parse_tokens,
    "tokenizer": values.one_of(TOKENIZERS, "tokenizer"),
    "date": lambda value, where: None if value == "today" else values.parse_day(value, where),
    "tz": values.parse_text,
    "format": values.one_of(FORMATS, "format"),
    "privacy": values.one_of(PRIVACY),
    "audience": values.one_of(AUDIENCES),
}
"""The settings of options, of variables `CTXASM_*` and of `ctxasm.yaml`, with the parsers of their values."""

FILE_SETTINGS: Mapping[str, ParseValue] = {**SETTINGS, "audience": values.one_of((SHARED,))}
"""The settings of `ctxasm.yaml`: a file that may come from others never adds what is private to a context."""

FILE_KEYS = (*SETTINGS, "layers", "rules", "env", "outputs", "summarizer", "embedder", "upkeep", "memories", "hook")

DEFAULTS: Mapping[str, object] = {
    "profile": "default",
    "tokenizer": "estimate",
    "format": "markdown",
    "privacy": PRIVACY[0],
    "audience": PERSONAL,
}
"""Settings that have a value if nobody gives one; the others are empty then, and the profile gives the budget."""


class Setting(NamedTuple):
    """A value and its origin."""

    value: object
    origin: str
    """An option, a variable, `FILE:LINE`, `profile NAME` or `default`."""

    @property
    def words(self) -> str:
        """The value as a person would write it."""
        if isinstance(self.value, tuple):
            return ", ".join(" ".join(map(str, each)) if isinstance(each, tuple) else str(each) for each in self.value)
        return str(self.value).lower() if isinstance(self.value, bool) else str(self.value)


def document_at(workspace: Workspace, path: str, hint: str) -> Document | None:
    """The document at a path; None if nothing is there. Raises `ContextasmError` for one that can't be read."""
    read = workspace.read(path)
    if isinstance(read, Problem):
        raise ContextasmError(path, read.message, hint)
    return read


def load_settings_file(workspace: Workspace) -> YamlMapping:
    """The workspace's `ctxasm.yaml`, empty if the file does not exist.

    Raises `ContextasmError` for a file that can't be read, and for an unknown key.
    """
    document = document_at(workspace, FILE, "replace it with a readable file")
    if document is None:
        return YamlMapping(FILE, 1)
    table = load_mapping(document.data, FILE)
    table.refuse_unknown(FILE_KEYS)
    return table


def resolve_settings(
    options: Mapping[str, str | None],
    environment: Mapping[str, str],
    settings_file: YamlMapping,
    shared_by: str = "",
) -> dict[str, Setting]:
    """Each setting from the option, else the variable, else the file, else the default.

    A budget that none of them sets is left to the profile. `shared_by` is the option or setting that makes a context
    shared if no audience is named; empty for none. Raises `ContextasmError` for a value that can't be used.
    """
    settings: dict[str, Setting] = {}
    for key, parse in SETTINGS.items():
        variable = f"CTXASM_{key.upper()}"
        option = options.get(key)
        if option is not None:
            settings[key] = Setting(parse(option, f"--{key}"), f"--{key}")
        elif variable in environment:
            settings[key] = Setting(parse(environment[variable], variable), variable)
        elif key == "date" and "SOURCE_DATE_EPOCH" in environment:
            settings[key] = Setting(_source_date_epoch_day(environment["SOURCE_DATE_EPOCH"]), "SOURCE_DATE_EPOCH")
        elif settings_file.get(key) is not None:
            where = settings_file.where(key)
            settings[key] = Setting(FILE_SETTINGS[key](settings_file[key], f"{where}: {key}"), where)
        elif key == "audience" and shared_by:
            settings[key] = Setting(SHARED, shared_by)
        elif key != "budget":
            settings[key] = Setting(DEFAULTS.get(key, ""), "default")
    return settings


def _source_date_epoch_day(seconds: str) -> date:
    # In UTC (reproducible-builds.org, SOURCE_DATE_EPOCH).
    from datetime import UTC, datetime

    try:
        return datetime.fromtimestamp(int(seconds), UTC).date()
    except (ValueError, OverflowError, OSError) as error:
        hint = "give the seconds since 1970, or unset it"
        raise ContextasmError("SOURCE_DATE_EPOCH", f"{seconds} is not a time", hint) from error
