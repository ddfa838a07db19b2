"""The list `outputs:` of `ctxasm.yaml`: files of the workspace that builds write.

It is only parsed here; `check` reports outputs that are out of date.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from contextasm.config.input import values
from contextasm.config.input.settings import SETTINGS
from contextasm.config.input.values import ParseValue
from contextasm.config.input.yaml_loader import YamlMapping
from contextasm.model import PERSONAL, ContextasmError, NamedTuple
from contextasm.workspace.outputs import OutputFile, file_identity

OUTPUT_SETTINGS = ("agent", "team", "profile", "budget", "format", "audience")
"""The settings that an output may have; all others are the settings of any build."""


class Output(NamedTuple):
    """A file that a build writes."""

    file: str
    """Path below the workspace."""
    line: int
    """Line of its entry in `ctxasm.yaml`."""
    words: tuple[tuple[str, str], ...]
    """Its settings by name, with the values as one would type them."""


def parse_outputs(table: YamlMapping) -> tuple[Output, ...]:
    """The outputs in their order. Raises `ContextasmError` for an entry that can't be used."""
    entries = table.get("outputs")
    if entries is None:
        return ()
    if not isinstance(entries, list) or not all(isinstance(entry, YamlMapping) for entry in entries):
        hint = "write `- file: FILE`, and the options of the build below it"
        raise ContextasmError(f"{table.where('outputs')}: outputs", "is not a list of files", hint)
    return tuple(map(_parse_output, entries))


def usable_outputs(table: YamlMapping) -> tuple[Output, ...]:
    """The outputs in their order; none if an entry can't be used: `check` reports it, and no build depends on it."""
    with suppress(ContextasmError):
        return parse_outputs(table)
    return ()


def sharing_option(settings_file: YamlMapping, root: str, targets: Sequence[OutputFile]) -> str:
    """The option or setting by which a text that goes to these files is a shared one; empty for none.

    `--into` and `--html` are, and an output of the workspace at `root`, unless its entry says that it is personal.
    """
    for target in targets:
        if target.kind in {"block", "page"}:
            return target.option
    outputs = usable_outputs(settings_file)
    shared = [output.file for output in outputs if dict(output.words).get("audience") != PERSONAL]
    identities = {file_identity(f"{root}/{file}") for file in shared}
    return "outputs" if any(target.identity in identities for target in targets) else ""


def _parse_output(table: YamlMapping) -> Output:
    table.parsed(OUTPUT_KEYS)
    if "file" not in table:
        raise ContextasmError(table.where(), "the output has no file", "add `file:`, such as CONTEXT.md")
    words = tuple((key, str(table[key])) for key in OUTPUT_SETTINGS if table.get(key) is not None)
    return Output(str(table["file"]), table.line, words)


def _parse_profile_in_workspace(value: object, where: str) -> object:
    name = values.parse_text(value, where)
    return values.parse_inner_paths(name, where) if "/" in name or name.endswith((".yaml", ".yml")) else name


OUTPUT_KEYS: dict[str, ParseValue] = {
    "file": lambda value, where: values.parse_inner_paths(values.parse_text(value, where), where),
    **{key: SETTINGS[key] for key in OUTPUT_SETTINGS},
    "profile": _parse_profile_in_workspace,
}
"""The keys of an output, with the parsers of their values."""
