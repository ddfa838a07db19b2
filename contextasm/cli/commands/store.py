"""`ctxasm store`: set up, look at, fill and leave the database in which memories are shared."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal, TypedDict

from contextasm.cli import output
from contextasm.cli.command_line import Argument, Command
from contextasm.cli.options import JsonOption, QuietOption, action_argument
from contextasm.config.input.options import Flag, Options, Text
from contextasm.config.input.settings import FILE, load_settings_file
from contextasm.config.input.values import require_known
from contextasm.config.keys.store import parse_store, store_overlay
from contextasm.config.resolve import process_environment
from contextasm.config.workspace_folder import open_workspace
from contextasm.memories.export import private_line_finder
from contextasm.memories.owner import find_owner
from contextasm.model import ContextasmError
from contextasm.rendering.json_codec import Count, Positive
from contextasm.workspace.folder import Folder
from contextasm.workspace.store.connection import UNWRITABLE
from contextasm.workspace.store.overlay import OF_FRESH_REPLICA, StoreOverlay
from contextasm.workspace.store.schema import join_owners, migrate_store, require_store
from contextasm.workspace.store.transfer import ImportCounts, export_pages, import_files


class SchemaChange(TypedDict):
    """The migrations that `ctxasm store init` or `migrate` applied, as `--json` prints them."""

    schema: Literal["ctxasm.store/1"]
    action: Literal["init", "migrate"]
    applied: list[Positive]
    """Numbers of the migrations that were applied, in their order; empty if the store had all."""


class OwnerState(TypedDict):
    """One owner."""

    owner: str
    """The owner's folder, such as `teams/q1`."""
    access: Literal["none", "read", "write"]
    """What your role may do there."""
    pages: Count
    """Pages of the replica."""


class StoreStatus(TypedDict):
    """The state of a store and of its replica, as `ctxasm store status --json` prints it."""

    schema: Literal["ctxasm.store/1"]
    action: Literal["status"]
    store: str
    """The address of the database."""
    reachable: bool
    """Whether the server answered; false also where nothing was asked because nobody trusts the workspace."""
    replica: str
    """The time of the server's last answer, in UTC; empty if there is no replica."""
    owners: list[OwnerState]
    """The owners that the replica knows, in the order of the settings."""


class StorePull(TypedDict):
    """The pages of the replica that changed, as `ctxasm store pull --json` prints them."""

    schema: Literal["ctxasm.store/1"]
    action: Literal["pull"]
    changed: list[str]
    """Paths of the pages that were written or removed."""


class StoreImport(TypedDict):
    """The numbers of memories that were stored, as `ctxasm store import --json` prints them."""

    schema: Literal["ctxasm.store/1"]
    action: Literal["import"]
    owners: Mapping[str, ImportCounts]
    """Numbers of memories by their owner."""


class StoreExport(TypedDict):
    """The number of files that were written, as `ctxasm store export --json` prints it."""

    schema: Literal["ctxasm.store/1"]
    action: Literal["export"]
    files: Count
    """Number of files that were written."""


def _refuse_odd(action: str, owner: str | None, target: str | None) -> None:
    """Raise `ContextasmError` for an unknown action, and for arguments that belong to another one."""
    require_known(action, ACTIONS, "store", "action")
    if owner and action not in {"import", "export"}:
        raise ContextasmError(f"store {action}", f"applies to the whole store, not to {owner}", "leave the owner out")
    if (target is None) == (action == "export"):
        what = "the folder is missing" if target is None else "only an export takes a folder"
        raise ContextasmError("--to", what, "write `ctxasm store export --to DIR`")


_Result = tuple[Mapping[str, object], Sequence[str], int]
"""Values for JSON, lines for people, and the exit code."""


def _open_store(options: Options) -> StoreOverlay:
    """The store of the workspace. Raises `ContextasmError` where the settings name none that can be used."""
    process = process_environment()
    workspace = open_workspace(options, process)
    settings_file = load_settings_file(workspace)
    if settings_file.get("memories") is None:
        raise ContextasmError(FILE, "names no store", "write `memories: {store: postgresql://..., owners: [teams/q1]}`")
    return store_overlay(workspace.root, parse_store(settings_file), process, offline=options.offline)


def _init(overlay: StoreOverlay, _owners: Sequence[str], _to: str) -> _Result:
    overlay.require_server()
    applied = [migration.number for migration in migrate_store(overlay.config)]
    join_owners(overlay.config)
    owners = ", ".join(overlay.config.owners)
    done = "was made" if applied else "already exists"
    return {"applied": applied}, [f"{overlay.config.address}: the store {done}; your role writes for {owners}"], 0


def _migrate(overlay: StoreOverlay, _owners: Sequence[str], _to: str) -> _Result:
    overlay.require_server()
    require_store(overlay.config)
    applied = migrate_store(overlay.config)
    lines = [f"{overlay.config.address}: applied {each.number:03} {each.name}" for each in applied]
    return {"applied": [each.number for each in applied]}, lines or [f"{overlay.config.address}: nothing to apply"], 0


def _pull(overlay: StoreOverlay, _owners: Sequence[str], _to: str) -> _Result:
    changed = overlay.pull()
    output.show_problems(overlay.refresh())
    pages = sum(len(owner.pages) for owner in overlay.state().owners.values())
    return {"changed": [*changed]}, [f"{len(changed):,} of {pages:,} pages changed"], 0


def _import(overlay: StoreOverlay, owners: Sequence[str], _to: str) -> _Result:
    overlay.require_server()
    files = Folder(overlay.root)
    profile = find_owner(Options(workspace=overlay.root), process_environment(), needed=False).profile
    results = {owner: import_files(overlay, owner, private_line_finder(files, profile, owner)) for owner in owners}
    overlay.pull()
    lines = [
        f"{owner}: {stored:,} stored, {changed:,} changed, {unchanged:,} unchanged"
        for owner, (stored, changed, unchanged) in results.items()
    ]
    if any(map(any, results.values())):
        lines.append("these files are no longer read; delete them")
    return {"owners": results}, lines, 0


def _export(overlay: StoreOverlay, owners: Sequence[str], to: str) -> _Result:
    if not overlay.offline:
        overlay.pull()
    output.show_problems(overlay.refresh())
    target = Path(to)
    count = export_pages(overlay, owners, target)
    return {"files": count}, [f"{target}: {count:,} file{'s' * (count != 1)} of memories"], 0


def _status(overlay: StoreOverlay, _owners: Sequence[str], _to: str) -> _Result:
    """The state of the store and of its replica; the server is asked, unless it must not be."""
    problems = [*overlay.renew()[1]]
    failed = {problem.code for problem in problems} - OF_FRESH_REPLICA
    reachable = failed <= {UNWRITABLE}
    state = overlay.state()
    output.show_problems(problems)
    replica, owners = overlay.replica_time(), []
    for owner in overlay.config.owners:
        if entry := state.owners.get(owner):
            access = "none" if entry.is_refused else "write" if entry.writes else "read"
            owners.append({"owner": owner, "access": access, "pages": len(entry.pages)})
    data = {"store": overlay.config.address, "reachable": reachable, "replica": replica, "owners": owners}
    if overlay.offline or overlay.distrust:
        access = "not asked"
    elif overlay.is_locked:
        access = "not asked: another pull of this workspace is running"
    else:
        access = "reachable" if reachable else "not available"
    lines = [
        output.shown_line(f"store   {overlay.config.address} ({access})"),
        output.shown_line(f"replica {replica or 'none yet'}"),
        "",
        output.format_table(("owner", "access", "pages"), [tuple(map(str, owner.values())) for owner in owners]),
    ]
    return data, lines, int(bool(failed))


_ACTIONS: Mapping[str, tuple[type, Callable[[StoreOverlay, Sequence[str], str], _Result]]] = {
    "init": (SchemaChange, _init),
    "status": (StoreStatus, _status),
    "pull": (StorePull, _pull),
    "import": (StoreImport, _import),
    "export": (StoreExport, _export),
    "migrate": (SchemaChange, _migrate),
}
"""The document and the function of each action."""

ACTIONS: Sequence[str] = tuple(_ACTIONS)
"""What can be done with a store."""

_DONE = "Make the store, show its state, update the replica, store files, write files, or update the tables."


def store(
    options: Options,
    *,
    action: Annotated[str, action_argument(ACTIONS, _DONE)] = "status",
    owner: Annotated[str | None, Argument("[OWNER]", "Import or export only this owner, such as teams/q1.")] = None,
    to: Annotated[Text, Flag("The folder to export to.", "DIR")] = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> int:
    """Share memories in a PostgreSQL database. ctxasm.yaml names the database under `memories:`.

    `init` makes the tables and lets your role write. `import` stores the memories of files. `export` writes the
    memories as Markdown files. `migrate` updates the tables of an older ctxasm.
    """
    _refuse_odd(action, owner, to)
    if json:
        output.require_stdout()
    overlay = _open_store(options)
    known = overlay.config.owners
    owners = known if owner is None else [require_known(owner.rstrip("/"), known, "store", "owner")]
    document, act = _ACTIONS[action]
    data, lines, code = act(overlay, owners, to or "")
    if json:
        output.write_json(document, {"action": action, **data})
    elif action == "status":
        output.write_stdout("\n".join(lines))
    elif not quiet:
        for line in lines:
            output.write_stderr(f"ctxasm: {line}")
    return code


run = Command(store, ("offline", "workspace"))
