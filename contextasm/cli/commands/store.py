"""`ctxasm store`: set up, look at, fill and leave the database in which memories are shared."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple, TypedDict

import typer

from contextasm.cli.options import JsonOption, QuietOption, takes_options
from contextasm.cli.output import (
    format_json,
    format_table,
    require_stdout,
    show_problems,
    shown_line,
    write_stderr,
    write_stdout,
)
from contextasm.config.input.options import Options
from contextasm.rendering.json_codec import Count, Positive

if TYPE_CHECKING:
    from contextasm.workspace.store.overlay import StoreOverlay

ACTIONS: Sequence[str] = ("init", "status", "pull", "import", "export", "migrate")
"""What can be done with a store."""

_OF_HOMES = ("import", "export")
"""Actions that may be of one home."""


class SchemaChange(TypedDict):
    """What `ctxasm store init` or `migrate` applied, as `--json` prints it."""

    schema: Literal["ctxasm.store/1"]
    action: Literal["init", "migrate"]
    applied: list[Positive]
    """Numbers of the migrations that were applied, in their order; empty if the store had all."""


class HomeState(TypedDict):
    """One home."""

    home: str
    """The owner's folder, such as `teams/q1`."""
    access: Literal["none", "read", "write"]
    """What your role may do there."""
    pages: Count
    """Pages of the mirror."""


class StoreStatus(TypedDict):
    """The state of a store and of its mirror, as `ctxasm store status --json` prints it."""

    schema: Literal["ctxasm.store/1"]
    action: Literal["status"]
    store: str
    """The address of the database."""
    reachable: bool
    """Whether the server answered; false also where nothing was asked because nobody trusts the workspace."""
    mirror: str
    """The time of the server's last answer, in UTC; empty if there is no mirror."""
    homes: list[HomeState]
    """The homes that the mirror knows, in the order of the settings."""


class StorePull(TypedDict):
    """What changed in the mirror, as `ctxasm store pull --json` prints it."""

    schema: Literal["ctxasm.store/1"]
    action: Literal["pull"]
    changed: list[str]
    """Paths of the pages that were written or removed."""


class ImportCounts(TypedDict):
    """Memories of one home."""

    stored: Count
    """Memories that the store did not have."""
    changed: Count
    """Memories that took over the fields of the files."""
    unchanged: Count
    """Memories that were the same already."""


class StoreImport(TypedDict):
    """What was stored of files, as `ctxasm store import --json` prints it."""

    schema: Literal["ctxasm.store/1"]
    action: Literal["import"]
    homes: Mapping[str, ImportCounts]
    """Numbers of memories by their home."""


class StoreExport(TypedDict):
    """What was written to files, as `ctxasm store export --json` prints it."""

    schema: Literal["ctxasm.store/1"]
    action: Literal["export"]
    files: Count
    """Number of files that were written."""


_DOCUMENTS: Mapping[str, type] = {
    "init": SchemaChange,
    "migrate": SchemaChange,
    "status": StoreStatus,
    "pull": StorePull,
    "import": StoreImport,
    "export": StoreExport,
}


class _StoreFlags(NamedTuple):
    """The flags of `store`, as typed."""

    to: Annotated[str | None, typer.Option("--to", metavar="DIR", help="Folder that an export is written below.")] = (
        None
    )
    json: JsonOption = False
    quiet: QuietOption = False


def store(
    options: Options,
    action: Annotated[
        str,
        typer.Argument(
            metavar="|".join(ACTIONS),
            help="Make the store, show its state, update the mirror, store files, write files, or update the schema.",
            autocompletion=lambda: ACTIONS,
        ),
    ] = "status",
    home: Annotated[
        str | None, typer.Argument(metavar="[HOME]", help="Import or export only this owner, such as teams/q1.")
    ] = None,
    *,
    flags: _StoreFlags,
) -> int:
    """Share memories in the PostgreSQL database that `memories:` in ctxasm.yaml names.

    init makes the tables and lets your role write; import stores the memories of files under their ids; export writes
    Markdown files that can be read without the store; migrate brings the tables of an older ctxasm up to date.
    """
    _refuse_odd(action, home, flags.to)
    if flags.json:
        require_stdout()
    overlay = _open_store(options)
    homes = _homes(overlay, home)
    data, lines, code = _actions()[action](overlay, homes, flags)
    if flags.json:
        write_stdout(format_json(_DOCUMENTS[action], {"action": action, **data}))
    elif action == "status":
        write_stdout("".join(f"{shown_line(line)}\n" for line in lines))
    elif not flags.quiet:
        for line in lines:
            write_stderr(f"ctxasm: {line}")
    return code


run = takes_options(store, ("offline", "workspace"))


def _refuse_odd(action: str, home: str | None, target: str | None) -> None:
    """Raise `ContextasmError` for an unknown action, and for arguments that belong to another one."""
    from contextasm.config.input.values import require_known
    from contextasm.model import ContextasmError

    require_known(action, ACTIONS, "store", "action")
    if home and action not in _OF_HOMES:
        raise ContextasmError(f"store {action}", f"is of the whole store, not of {home}", "leave the home out")
    if (target is None) == (action == "export"):
        what = "the folder is missing" if target is None else "only an export has one"
        raise ContextasmError("--to", what, "write ctxasm store export --to DIR")


_Result = tuple[Mapping[str, object], Sequence[str], int]
"""Values for JSON, lines for people, and the exit code."""


def _open_store(options: Options) -> StoreOverlay:
    """The store of the workspace. Raises `ContextasmError` where the settings name none that can be used."""
    from contextasm.config.input.settings import FILE, load_settings_file
    from contextasm.config.keys.store import parse_store, store_overlay
    from contextasm.config.resolve import process_environment
    from contextasm.config.workspace_folder import open_workspace
    from contextasm.model import ContextasmError

    process = process_environment()
    workspace = open_workspace(options, process)
    settings_file = load_settings_file(workspace)
    if settings_file.get("memories") is None:
        raise ContextasmError(FILE, "names no store", "write `memories: {store: postgresql://..., homes: [teams/q1]}`")
    return store_overlay(workspace.root, parse_store(settings_file), process, offline=options.offline)


def _homes(overlay: StoreOverlay, home: str | None) -> Sequence[str]:
    from contextasm.config.input.values import require_known

    if home is None:
        return overlay.config.owners
    return [require_known(home.rstrip("/"), overlay.config.owners, "store", "home")]


def _actions() -> Mapping[str, Callable[[StoreOverlay, Sequence[str], _StoreFlags], _Result]]:
    """The actions by name."""
    return {
        "init": _init,
        "migrate": _migrate,
        "status": _status,
        "pull": _pull,
        "import": _import,
        "export": _export,
    }


def _init(overlay: StoreOverlay, _homes: Sequence[str], _flags: _StoreFlags) -> _Result:
    from contextasm.workspace.store.schema import join_owners, migrate_store

    overlay.require_server()
    applied = [migration.number for migration in migrate_store(overlay.config)]
    join_owners(overlay.config)
    homes = ", ".join(overlay.config.owners)
    done = "made" if applied else "is there already"
    return {"applied": applied}, [f"{overlay.config.address}: the store {done}; your role writes in {homes}"], 0


def _migrate(overlay: StoreOverlay, _homes: Sequence[str], _flags: _StoreFlags) -> _Result:
    from contextasm.workspace.store.schema import migrate_store, require_store

    overlay.require_server()
    require_store(overlay.config)
    applied = migrate_store(overlay.config)
    lines = [f"{overlay.config.address}: applied {each.number:03} {each.name}" for each in applied]
    return {"applied": [each.number for each in applied]}, lines or [f"{overlay.config.address}: nothing to apply"], 0


def _pull(overlay: StoreOverlay, _homes: Sequence[str], _flags: _StoreFlags) -> _Result:
    changed = overlay.pull()
    show_problems(overlay.refresh())
    pages = sum(len(home.pages) for home in overlay.state().owners.values())
    return {"changed": [*changed]}, [f"{len(changed):,} of {pages:,} pages changed"], 0


def _import(overlay: StoreOverlay, homes: Sequence[str], _flags: _StoreFlags) -> _Result:
    from contextasm.config.resolve import process_environment
    from contextasm.memories.export import private_line_finder
    from contextasm.workspace.folder import Folder
    from contextasm.workspace.store.transfer import import_files

    overlay.require_server()
    files, process = Folder(Path(overlay.root)), process_environment()
    results = {
        home: import_files(overlay, home, private_line_finder(files, home, Options(), process)) for home in homes
    }
    overlay.pull()
    lines = [
        f"{home}: {stored:,} stored, {changed:,} changed, {unchanged:,} unchanged"
        for home, (stored, changed, unchanged) in results.items()
    ]
    if any(map(any, results.values())):
        lines.append("the files are no longer read; take them away")
    names = ("stored", "changed", "unchanged")
    return {"homes": {home: dict(zip(names, counts, strict=True)) for home, counts in results.items()}}, lines, 0


def _export(overlay: StoreOverlay, homes: Sequence[str], flags: _StoreFlags) -> _Result:
    from contextasm.workspace.store.transfer import export_pages

    if not overlay.offline:
        overlay.pull()
    show_problems(overlay.refresh())
    target = Path(flags.to or "")
    count = export_pages(overlay, homes, target)
    return {"files": count}, [f"{target}: {count:,} file{'s' * (count != 1)} of memories"], 0


def _status(overlay: StoreOverlay, _homes: Sequence[str], _flags: _StoreFlags) -> _Result:
    """The state of the store and of its mirror; the server is asked, unless it must not be."""
    from contextasm.workspace.store.connection import UNWRITABLE
    from contextasm.workspace.store.overlay import OF_FRESH_REPLICA

    problems = [*overlay.renew()[1]]
    failed = {problem.code for problem in problems} - OF_FRESH_REPLICA
    reachable = failed <= {UNWRITABLE}
    state = overlay.state()
    show_problems(problems)
    homes = [
        {
            "home": home,
            "access": "none" if entry.is_refused else "write" if entry.writes else "read",
            "pages": len(entry.pages),
        }
        for home in overlay.config.owners
        if (entry := state.owners.get(home))
    ]
    data = {"store": overlay.config.address, "reachable": reachable, "mirror": overlay.replica_time(), "homes": homes}
    if overlay.offline or overlay.distrust:
        access = "not asked"
    elif overlay.is_locked:
        access = "not asked: another pull of this workspace is running"
    else:
        access = "reachable" if reachable else "not available"
    lines = [
        f"store   {overlay.config.address} ({access})",
        f"mirror  {overlay.replica_time() or 'none yet'}",
        "",
        *format_table(("home", "access", "pages"), [tuple(map(str, home.values())) for home in homes]).splitlines(),
    ]
    return data, lines, int(bool(failed))
