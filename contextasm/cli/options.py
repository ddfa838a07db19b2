"""The options that several commands share.

Flags are declared as `config.input.options.Flag`: those of a request in `Options`, those of one command in its module.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated

from contextasm.cli.command_line import Argument, flag_names
from contextasm.cli.output import format_json, progress_line, require_stdout, write_receipt
from contextasm.config.build import PreparedBuild
from contextasm.config.input.options import Flag, Options
from contextasm.config.resolve import prepare_build, process_environment
from contextasm.model import Build, Context, ContextasmError, NamedTuple
from contextasm.workspace.outputs import OutputFile

QuietOption = Annotated[bool, Flag("Print no messages except errors.", names="-q")]
LockedOption = Annotated[bool, Flag("Refuse to build if a file differs from ctxasm.lock or is missing from it.")]
JsonOption = Annotated[bool, Flag("Print JSON instead of text.")]


class Receipt(NamedTuple):
    """How a command that changes files says on standard output what it has stored: as JSON, as text or not at all."""

    json: JsonOption = False
    quiet: QuietOption = False

    def require_stdout(self) -> None:
        """Raise `ContextasmError` if there is something to say and standard output is closed."""
        if self.json or not self.quiet:
            require_stdout()

    def write(self, document: type, values: object, lines: Iterable[str]) -> None:
        """Write a document of these values, or lines. Raises `ContextasmError`, which says that it is stored."""
        if self.json:
            write_receipt(format_json(document, values))
        elif not self.quiet:
            write_receipt("".join(f"{line}\n" for line in lines))


def all_but(*fields: str) -> Sequence[str]:
    """The fields of `Options` without these."""
    return [field for field in Options._fields if field not in fields]


def typed_flags(options: Options) -> dict[str, object]:
    """Every typed option but the workspace, by its flag."""
    return {flag_names(name)[0]: value for name, value in options._asdict().items() if value and name != "workspace"}


def refuse_given(given: Mapping[str, object], other: str, hint: str) -> None:
    """Raise `ContextasmError` for the first of the arguments that is given: it can't be used with the other one."""
    for name, value in given.items():
        if value not in (None, False, ()):
            raise ContextasmError(name, f"can't be used with {other}", hint)


def action_argument(actions: Sequence[str], text: str, metavar: str = "") -> Argument:
    """An argument that is the name of an action."""
    return Argument(metavar or "|".join(actions), text, actions)


def prepare_context(options: Options, targets: Sequence[OutputFile] = (), *, locked: bool) -> PreparedBuild:
    """The build of a command that shows a context; `locked` or `CTXASM_LOCKED` asks for approved files only.

    `targets` are the files that its text goes to. Raises `ContextasmError`.
    """
    process = process_environment()
    return prepare_build(options, process, targets=targets).with_lock(process.environment, locked=locked)


def run_build(prepared: PreparedBuild, build: Build | None = None, *, quiet: bool = False) -> Context:
    """The context of a build; for None, of the prepared one in full. A slow build shows its seconds on a terminal."""
    with progress_line("building", quiet=quiet):
        return prepared.run(build)
