"""Files that a host loads by itself and cuts, for `check --host`, `explain --host` and `build --into`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal, TypedDict

from contextasm.checks.hosts.cuts import LostSection
from contextasm.checks.hosts.files import HostReading, LoadedFile, read_host_files
from contextasm.checks.hosts.report import lost_tokens
from contextasm.cli.options import refuse_given, typed_flags
from contextasm.cli.output import format_table, write_json, write_stderr, write_stdout, write_table
from contextasm.config.build import PreparedBuild
from contextasm.config.hosts.loader import load_host, shipped_hosts
from contextasm.config.input.options import Flag, Options
from contextasm.config.resolve import process_environment
from contextasm.config.workspace_folder import named_workspace
from contextasm.model import ContextasmError, Document, Problem
from contextasm.rendering.json_codec import Count, Positive
from contextasm.selection.tokens import ESTIMATE
from contextasm.workspace.folder import is_below, repository_top
from contextasm.workspace.git.folder import open_index
from contextasm.workspace.outputs import REPORTS, OutputFile

HostOption = Annotated[
    str | None, Flag("", "NAME", f"Apply the loading rules of this host: {', '.join(shipped_hosts())}.")
]
HostFileOption = Annotated[
    tuple[str, ...], Flag("", "PATH", "With --host, look at this file outside the folder, too; repeatable.")
]


def read_host(host: str, outside: Sequence[str], options: Options, *, staged: bool = False) -> HostReading:
    """The reading of a host whose session starts in the named folder, else in the current one.

    With `staged`, it is of the files in git's index. Raises `ContextasmError`, also for options of a request: no build
    is made.
    """
    refuse_given(typed_flags(options), "--host", "leave it out: nothing is built")
    process = process_environment()
    folder = str(Path(process.folder, named_workspace(options, process)))
    if not os.path.isdir(folder):
        raise ContextasmError(folder, "is not a folder", "name one with -w DIR")
    rules = load_host(host, "--host")
    if not staged:
        return read_host_files(rules, folder, outside)
    root = repository_top(os.path.realpath(folder)) or folder
    with open_index(root, process.environment, process.folder) as index:
        return read_host_files(rules, folder, outside, index)


def refuse_host_files(host: str | None, outside: Sequence[str]) -> None:
    """Raise `ContextasmError` for files outside the folder without a host that loads them."""
    if outside and host is None:
        raise ContextasmError("--host-file", "goes with --host only", "name the host with --host")


def write_scope(reading: HostReading) -> None:
    """Write to standard error what was looked at, and what was not."""
    place = f"{reading.root}/{reading.folder}".rstrip("/") or "/"
    count = len(reading.files)
    write_stderr(f"{reading.host.summary} in {place}: {count} file{'s' * (count != 1)} that it loads by itself")
    for text in reading.not_looked_at:
        write_stderr(f"not looked at: {text}")


def without_known(job: PreparedBuild, targets: Sequence[OutputFile], *, quiet: bool) -> PreparedBuild:
    """The build without what the one file with a block says anyway, or what the profile's host loads next to it.

    If the text goes to more than one file, nothing is left out: one has not the other's.
    """
    from contextasm.integrations.hook_parts import load_host_texts, without_host_texts  # here: only a block needs it

    texts, root = [target for target in targets if target.kind not in REPORTS], os.path.realpath(job.workspace.root)
    if [target.managed for target in texts] != [True] or not is_below(texts[0].real, root):
        return job
    paths, own = frozenset([texts[0].real]), os.path.relpath(texts[0].real, root)
    host = load_host(job.build.profile.host, "host") if job.build.profile.host else None
    if host and any(own in rule.files for rule in host.loads if rule.folders != "outside"):
        paths |= load_host_texts([host], root)[0]
        if not quiet:
            names = ", ".join(sorted(os.path.relpath(path, root) for path in paths))
            write_stderr(f"left out, because {host.summary} loads it by itself: {names}")
    elif not isinstance(read := job.workspace.read(own), Document) or not read.text.strip():
        return job  # only our block is in it, or nothing: no build has to say what the file says
    build = without_host_texts(job.build, (paths, frozenset(), frozenset()), job.run(), root, only_named=False)
    return job._replace(build=build)


def show_cut_blocks(job: PreparedBuild, targets: Sequence[OutputFile]) -> None:
    """Warn about each file with a block that the host of the profile cuts."""
    host, root = load_host(job.build.profile.host, "host"), job.workspace.root
    for file in read_host_files(host, root).files:
        if file.limit and os.path.realpath(f"{root}/{file.path}") in {each.real for each in targets if each.managed}:
            mend = "shorten it, or build less with -b"
            write_stderr(f"ctxasm: warning: {file.path}: {host.summary} cuts it at {file.limit}: {mend}")


def explain_host(reading: HostReading, *, as_json: bool) -> None:
    """Write each file with what reaches the model of it, and each lost section with its lines and tokens."""
    if as_json:
        write_json(HostDocument, _reading_data(reading))
        return
    rows = [_file_row(file) for file in reading.files]
    rows += [
        [file.path, "on demand" if file.is_on_demand else "not loaded", "", "", file.why] for file in reading.unread
    ]
    rows += [[f"{each.path}:{each.line}", "not loaded", "", "", each.message] for each in reading.problems if each.line]
    rows += [[each.path, "unreadable", "", "", each.message] for each in reading.problems if not each.line]
    write_table(("file", "outcome", "tokens", "lost", "why"), rows, (2, 3))
    lost = [
        [f"{file.path}:{section.first}", str(section.last), f"{lost_tokens([section]):,}", section.heading or "-"]
        for file in reading.files
        for section in _lost(file)
    ]
    if lost:
        write_stdout("\n" + format_table(("never seen from", "to line", "tokens", "heading"), lost, (1, 2)))
    write_scope(reading)


def _lost(file: LoadedFile) -> Sequence[LostSection]:
    return [section for part in file.lost_parts for section in part]


def _file_row(file: LoadedFile) -> Sequence[str]:
    lost = lost_tokens(_lost(file))
    reasons = [f"cut at {file.limit}" if lost else "", f"imported by {file.imported_by}" if file.imported_by else ""]
    reasons += ["less " + " and ".join(file.rule.taken_out).replace("_", " ") if file.taken else ""]
    why = ", ".join(filter(None, reasons))
    return [file.path, _outcome(file), f"{ESTIMATE.count(file.text):,}", f"{lost:,}" if lost else "", why]


def _outcome(file: LoadedFile) -> str:
    return "dropped" if not file.kept else "cut" if file.lost_parts else "whole"


class LostSectionData(TypedDict):
    """One section."""

    first: Positive
    """Its first line."""
    last: Positive
    """Its last line."""
    heading: str
    """Its heading; empty for none."""
    tokens: Count
    """Its tokens."""


class LoadedFileData(TypedDict):
    """One file."""

    path: str
    """Its path."""
    outcome: Literal["whole", "cut", "dropped"]
    """How much of it is loaded."""
    limit: str
    """The limit that cuts it, in words; empty for none."""
    imported_by: str
    """Path and line of the import that brings it; empty for none."""
    source: str
    """Where the host says so."""
    date: str
    """When that was read, YYYY-MM."""
    lost_tokens: Count
    """The tokens that are lost."""
    lost: list[LostSectionData]
    """The sections that are lost."""


class UnreadFileData(TypedDict):
    """One file."""

    path: str
    """Its path."""
    why: str
    """Why it is not loaded."""
    retired: bool
    """Whether an earlier version of the host loaded it."""
    on_demand: bool
    """Whether the host loads it later, when it is needed."""


class HostDocument(TypedDict):
    """The files that a host loads by itself, as `ctxasm explain --host --json` prints them."""

    schema: Literal["ctxasm.host/1"]
    host: str
    """The name of the host."""
    root: str
    """The top of what it reads."""
    folder: str
    """The folder that it is started in."""
    files: list[LoadedFileData]
    """The files that it loads, in order."""
    unread: list[UnreadFileData]
    """Files that are there and not loaded."""
    problems: list[Problem]
    """What was wrong with files."""
    not_looked_at: list[str]
    """What the host also reads, and this command does not look at."""


def _reading_data(reading: HostReading) -> dict[str, object]:
    """The reading, with what `HostDocument` has of it."""
    unread = [file._asdict() | {"retired": file.is_retired, "on_demand": file.is_on_demand} for file in reading.unread]
    files = [*map(_file_data, reading.files)]
    return reading._asdict() | {"host": reading.host.name, "files": files, "unread": unread}


def _file_data(file: LoadedFile) -> dict[str, object]:
    sections = _lost(file)
    lost = [section._asdict() | {"tokens": lost_tokens([section])} for section in sections]
    rule = {"source": file.rule.source, "date": file.rule.date}
    return file._asdict() | rule | {"outcome": _outcome(file), "lost_tokens": lost_tokens(sections), "lost": lost}
