"""The options of builds that are compared with a record, or made like it: those typed, else those of the record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from contextasm.config.input.options import Options
from contextasm.config.input.settings import FILE

if TYPE_CHECKING:
    from contextasm.cli.commands.replay import OpenedRecord
    from contextasm.config.build import PreparedBuild
    from contextasm.config.input.options import ProcessEnvironment
    from contextasm.model import Profile
    from contextasm.workspace.folder import Folder
    from contextasm.workspace.outputs import OutputFile


class BuildOptions(NamedTuple):
    """Options and profile of a build that is yet to be prepared."""

    options: Options
    profile: Profile | None = None
    """Profile stored with a record; None for the one that the options name."""
    targets: tuple[OutputFile, ...] = ()
    """Files that the build goes to."""

    def prepare(self, process: ProcessEnvironment, workspace: Folder | None = None) -> PreparedBuild:
        """The build in the workspace of the options, or in this one. Raises `ContextasmError`."""
        from contextasm.config.resolve import prepare_build

        return prepare_build(self.options, process, workspace, stored_profile=self.profile, targets=self.targets)


def with_options_of(options: Options, records: Sequence[OpenedRecord]) -> BuildOptions:
    """The options of a side that is built: those given here, else those of the records, with their profile."""
    profile = None
    for opened in records:
        if options.profile is None and options.strategy is None and options.scope is None:
            profile = profile or _typed_profile(opened)
        recorded = {key: value for key, value in _recorded_options(opened).items() if value}
        missing: dict[str, Any] = {key: value for key, value in recorded.items() if not getattr(options, key)}
        options = options._replace(**missing)
    return BuildOptions(options, profile)


def _recorded_options(opened: OpenedRecord) -> Mapping[str, Any]:
    """The options of a record by name; variables of its environment count as typed."""
    record = opened.record
    variables = {
        setting.key: setting.value for setting in record.making.settings if setting.origin.startswith("CTXASM_")
    }
    workspace = {"workspace": str(opened.root)} if opened.root else {}
    typed = {key: value for key, value in record.making.options._asdict().items() if value is not None}
    return {**variables, **typed, "topic": record.request.topic, "audience": record.request.audience, **workspace}


def _typed_profile(opened: OpenedRecord) -> Profile | None:
    """The stored profile of a record for which a file was named on the command line or in the environment."""
    from contextasm.cli.output import write_stderr
    from contextasm.config.profiles.loader import is_profile_path
    from contextasm.records.replay import changed_config

    making = opened.record.making
    setting = next((setting for setting in making.settings if setting.key == "profile"), None)
    if setting is None or not is_profile_path(setting.value) or not setting.origin.startswith(("--", "CTXASM_")):
        return None
    for change in changed_config(opened.record, opened.root) if opened.root else ():
        if change.path != FILE and not change.path.startswith("rules/"):
            write_stderr(f"ctxasm: note: {change.path}: {change.kind}; the profile of the record is used")
    return making.profile
