"""Files that a host loads by itself and cuts, for `check --host`, `explain --host` and `build --into`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Annotated, Literal, TypedDict

from contextasm.checks.hosts.cuts import LoadedFile
from contextasm.checks.hosts.directives import reading_directives
from contextasm.checks.hosts.files import HostReading, is_in_use, read_host_files
from contextasm.checks.hosts.report import list_words, lost_tokens
from contextasm.checks.hosts.skills import Skill
from contextasm.cli.options import refuse_given, typed_flags
from contextasm.cli.output import format_table, write_json, write_stderr, write_stdout, write_table
from contextasm.config.build import PreparedBuild
from contextasm.config.hosts.loader import load_host, nested_files, shipped_hosts
from contextasm.config.input.options import Flag, Options, Text, Texts
from contextasm.config.input.values import parse_tokens
from contextasm.config.resolve import process_environment
from contextasm.config.workspace_folder import named_workspace
from contextasm.model import ContextasmError, Document, NamedTuple, Problem
from contextasm.rendering.json_codec import Count, Positive
from contextasm.workspace.folder import Folder, is_below, repository_top
from contextasm.workspace.git.commands import repository_files
from contextasm.workspace.git.folder import open_index
from contextasm.workspace.outputs import REPORTS, OutputFile

_NAMES = ", ".join(shipped_hosts())
ALL = "all"
"""Word for every host that is in use in a folder."""


class HostFlags(NamedTuple):
    """The flags of a host, as typed."""

    host: Annotated[
        Text,
        Flag(
            f"Apply the loading rules of this host: {_NAMES}. With check or --html, `all` means each host in use here.",
            "NAME",
            completed=(*shipped_hosts(), "all"),
        ),
    ] = None
    host_file: Annotated[Texts, Flag("With --host, also read this file outside the folder; repeatable.", "PATH")] = ()
    host_home: Annotated[bool, Flag("With --host, also read the files and skills in your home folder.")] = False
    window: Annotated[Text, Flag("With --host, apply the limits of a window of N tokens, such as 200k.", "N")] = None


def read_hosts(flags: HostFlags, options: Options, *, staged: bool) -> Sequence[HostReading] | None:
    """The reading of a host whose session starts in the named folder, else in the current one; of all in use for `all`.

    None without a host.

    With `staged`, it is of the files in git's index; with `own`, the person's home is read, too. Raises
    `ContextasmError`, also for options of a request: no build is made.
    """
    host, outside, own, window = flags
    if host is None:
        given = {"--host-file": outside, "--host-home": own, "--window": window}
        for name in (name for name, value in given.items() if value not in {None, False, ()}):
            raise ContextasmError(name, "needs a host", "name one with --host")
        return None
    others = {flag: value for flag, value in typed_flags(options).items() if flag not in {"--date", "--open"}}
    refuse_given(others, "--host", "leave it out; --host builds nothing")
    process = process_environment()
    folder = str(Path(process.folder, named_workspace(options, process)))
    if not os.path.isdir(folder):
        raise ContextasmError(folder, "is not a folder", "name one with -w DIR")
    hosts = [load_host(name, "--host") for name in (shipped_hosts() if host == ALL else [host])]
    tokens = parse_tokens(window, "--window") if window is not None else 0
    if window is not None and not tokens:
        raise ContextasmError("--window", "a window of 0 holds nothing", "give the window of the model, such as 200k")
    hosts = [each.with_window(tokens) for each in hosts] if tokens else hosts
    home = Folder(Path.home()) if own else None
    root = repository_top(os.path.realpath(folder)) or folder
    index = open_index(root, process.environment, process.folder) if staged else nullcontext(Folder(root))
    with index as files:
        if host == ALL:
            refuse_given({"--host-file": outside}, "--host all", "name one host")
            session = os.path.relpath(os.path.realpath(folder), os.path.realpath(root))
            hosts = [each for each in hosts if is_in_use(each, files, session)]
        paths = [os.path.join(process.folder, path) for path in options.open]
        listed = _listed_files(root, files, process.environment)
        return [read_host_files(each, folder, outside, files, paths, home, tokens, listed) for each in hosts]


def _listed_files(root: str, files: Folder, environment: Mapping[str, str]) -> Sequence[str]:
    """The files of a repository that git does not ignore; without git, instruction files at most three folders deep.

    Files of other repositories inside of it are left out.
    """
    with suppress(ContextasmError):  # git can't read this repository
        if listed := repository_files(root, environment):
            return listed
    names, levels = nested_files(), ("*", "*/*", "*/*/*")
    ends = tuple(f"/{name}" for name in names)
    paths = [path for level in levels for path in files.list(f"{level}/*") if path.endswith(ends)]
    inner = [name for name in names if "/" in name]  # these are in hidden folders, which no wildcard finds
    paths += [path for level in levels for name in inner for path in files.list(f"{level}/{name}")]
    own = (path for path in paths if "node_modules" not in path.split("/"))
    return [path for path in own if repository_top(f"{root}/{os.path.dirname(path)}") in {root, None}]


def write_scope(reading: HostReading, *, is_one_of_many: bool = False) -> None:
    """Write to standard error what was looked at, and for a single host also what was not."""
    place = f"{reading.root}/{reading.folder}".rstrip("/") or "/"
    count, name = len(reading.files), reading.host.summary
    write_stderr(f"{name} in {place}: {count} file{'s' * (count != 1)} that it loads by itself")
    verified = " on ".join(dict(reading.host.verified).values())
    write_stderr(f"verified against {name} {verified}" if verified else f"{name}: not verified against the host")
    if unknown := [file.path for file in reading.files if not file.rule.limit_known]:
        write_stderr(f"no limit is documented: {', '.join(unknown)}")
    if reading.host.note:
        write_stderr(f"{name}: {reading.host.note}")
    if reading.skills and (rule := reading.host.skills):
        write_stderr(f"it finds {list_words(reading, rule)}")
    if count := sum(1 for _ in reading_directives(reading)):
        write_stderr(f"directives: {count}")
    if reading.not_looked_at and not is_one_of_many:
        write_stderr(f"not checked: {'; '.join(reading.not_looked_at)}")


def without_known(job: PreparedBuild, targets: Sequence[OutputFile], *, quiet: bool) -> PreparedBuild:
    """The build without what the one file with a block says anyway, or what a host loads next to it.

    That is what the profile's host loads, and each instruction file that imports the file: its host reads both. If the
    text goes to more than one file, nothing is left out: one has not the other's.
    """
    from contextasm.integrations.hook_parts import load_host_texts, without_host_texts  # here: only a block needs it

    texts, root = [target for target in targets if target.kind not in REPORTS], os.path.realpath(job.workspace.root)
    if [target.managed for target in texts] != [True] or not is_below(texts[0].real, root):
        return job
    own, importing = os.path.relpath(texts[0].real, root), _importing(job, texts[0].real)
    paths = frozenset(os.path.realpath(f"{root}/{path}") for path in (own, *importing))
    host = load_host(job.build.profile.host, "host") if job.build.profile.host else None
    if host and any(own in rule.files for rule in host.loads if rule.folders != "outside"):
        loaded, _, _, cut = load_host_texts([host], root)
        paths |= loaded.union(cut)
        if not quiet:
            names = ", ".join(sorted(os.path.relpath(path, root) for path in paths))
            write_stderr(f"left out, because {host.summary} loads these files: {names}")
    elif importing:
        if not quiet:
            write_stderr(f"left out, because these files import {own}: {', '.join(importing)}")
    elif not isinstance(read := job.workspace.read(own), Document) or not read.text.strip():
        return job  # only our block is in it, or nothing: no build has to say what the file says
    build = without_host_texts(job.build, (paths, frozenset(), frozenset(), {}), job.run(), root, only_named=False)
    return job._replace(build=build)


def _importing(job: PreparedBuild, target: str) -> Sequence[str]:
    """The instruction files of a build that import the file at a real path, if only by others; it may be missing."""
    from contextasm.retrieval.sources.instructions import read_instruction_files, read_with_imports

    build, root = job.build, job.workspace.root
    layers = [layer for layer in build.profile.layers if any(each.uses_open for each in layer.query.traits)]
    read = [read_instruction_files(build.workspace, layer, build.request)[0] for layer in layers]
    paths = sorted({document.path for files in read for document, _ in files})
    named = {path: {*read_with_imports(build.workspace, [path])[2]} - {path} for path in paths}
    return [path for path in paths if target in (os.path.realpath(f"{root}/{each}") for each in named[path])]


def show_cut_blocks(job: PreparedBuild, targets: Sequence[OutputFile]) -> None:
    """Warn about each file with a block that the host of the profile cuts."""
    host, root = load_host(job.build.profile.host, "host"), job.workspace.root
    for file in read_host_files(host, root).files:
        if file.limit and os.path.realpath(f"{root}/{file.path}") in {each.real for each in targets if each.managed}:
            mend = "shorten it, or build less with -b"
            write_stderr(f"ctxasm: warning: {file.path}: {host.summary} cuts this file at {file.limit}: {mend}")


def explain_host(reading: HostReading, *, as_json: bool) -> None:
    """Write each file with what reaches the model of it, and each lost section with its lines and tokens."""
    if as_json:
        write_json(HostDocument, _reading_data(reading))
        return
    from contextasm.checks.hosts.page import file_table, lost_table, skill_table  # here: a build needs none

    write_table(*file_table(reading))
    for header, rows, right in (skill_table(reading), lost_table(reading)):
        if rows:
            write_stdout("\n" + format_table(header, rows, right))
    write_scope(reading)


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
    on_demand: bool
    """Whether the host loads it only with a file that is open."""
    limit_known: bool
    """Whether it is known how much of it the host keeps."""
    source: str
    """Where the host says so."""
    date: str
    """When that was read, YYYY-MM."""
    lost_tokens: Count
    """The tokens that are lost."""
    lost: list[LostSectionData]
    """The sections that are lost."""
    taken_out: list[Positive]
    """The lines that the host takes out, at least in part, such as those of comments."""


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
    verified: dict[str, str]
    """Version and date of the last run of the host itself that agreed; empty for none."""
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
    skills: list[Skill]
    """The skills that it finds."""
    window: Count
    """The tokens of the context window that the list of skills is for; 0 for the host's own."""
    directives: Count
    """The number of directives in all files that it loads."""
    not_looked_at: list[str]
    """What the host also reads, and this command does not look at."""


def _reading_data(reading: HostReading) -> dict[str, object]:
    """The reading, with what `HostDocument` has of it."""
    host = {"host": reading.host.name, "verified": reading.host.verified}
    unread = [*reading.unread, *reading.below]
    more = {
        "files": [*map(_file_data, reading.files)],
        "unread": unread,
        "directives": sum(1 for _ in reading_directives(reading)),
    }
    return reading._asdict() | host | more


def _file_data(file: LoadedFile) -> dict[str, object]:
    sections = file.lost_sections
    lost = [section._asdict() | {"tokens": lost_tokens([section])} for section in sections]
    more = {"outcome": file.outcome, "lost_tokens": lost_tokens(sections), "lost": lost, "taken_out": file.taken_lines}
    return file.rule._asdict() | file._asdict() | more
