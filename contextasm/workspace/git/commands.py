"""Git as a process: one way to run it, the current branch, and the files that differ from the last commit.

A copied folder brings its own `.git/config`, which can name programs for many occasions. So git reads the repository
and nothing else: no network, no locks, no question to the user, and no program that the repository names. The files of
a revision are in `workspace/git/folder.py`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress

from contextasm.model import ContextasmError
from contextasm.text.names.matching import repository_address
from contextasm.workspace.folder import Folder, is_below, repository_top
from contextasm.workspace.reads import note_other_input, real_path

_HOOK_VARIABLES = (
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_DIR",
    "GIT_GRAFT_FILE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_INTERNAL_SUPER_PREFIX",
    "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
)
"""Variables with which a caller, such as a hook, points git at a repository (`git rev-parse --local-env-vars`).

They are removed, so that the workspace's folder decides on the repository.
"""

_NOTHING_TO_COMPARE = ("not a git repository", "ambiguous argument 'head'", "bad revision 'head'")
"""Words of git's messages, in lower case, for a folder outside of a repository, and one without a commit."""

_SAFE_VARIABLES = {
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}
"""Variables that no setting of the repository overrides.

Older versions of git ignore `GIT_NO_LAZY_FETCH` and fetch what a partial clone lacks; the empty list of protocols
prevents that.
"""

_SAFE_SETTINGS = ("core.fsmonitor=false", f"core.hooksPath={os.devnull}", "core.quotePath=false")

_FILTER_SETTINGS = {"clean": "", "smudge": "", "process": "", "required": "false"}
"""Values with which a filter of `.gitattributes` runs no program."""

_TIMEOUT = 10
"""Seconds that the branch and the changed files may take."""

WORKSPACE_PREFIXES = (
    "agents/",
    "teams/",
    "rules/",
    "memories/",
    "knowledge/",
    "sessions/",
    "graph/",
    "threads/",
    "tools/",
    "ctxasm.",
)


WORKSPACE_FILES = ("PROJECT.md", "patterns.yaml", "tasks.yaml")
"""Files of the workspace itself, which nobody works on; other layers show them (docs/architecture.md, Workspace)."""


def git_command(
    root: str, environment: Mapping[str, str], *words: str, index: str = "", settings: Sequence[str] = ()
) -> tuple[Sequence[str], Mapping[str, str]]:
    """The command line and the variables with which git is run in the folder `root`.

    `index` is the file of another index than the repository's own; empty for that one. `settings` are more settings of
    git, as `KEY=VALUE`.
    """
    note_other_input()
    options = [word for setting in (*_SAFE_SETTINGS, *settings) for word in ("-c", setting)]
    variables = {name: value for name, value in environment.items() if name not in _HOOK_VARIABLES}
    variables |= _SAFE_VARIABLES | ({"GIT_INDEX_FILE": index} if index else {})
    return ["git", "--no-replace-objects", *options, "-C", root, *words], variables


def run_git(
    root: str,
    environment: Mapping[str, str],
    *words: str,
    timeout: float | None = None,
    index: str = "",
    settings: Sequence[str] = (),
) -> tuple[int, bytes, bytes]:
    """Exit code, output and messages of a git command in the folder `root`; `index` and `settings` as in `git_command`.

    `timeout` is in seconds; None for any time. Raises `OSError` if git can't be started, and
    `subprocess.TimeoutExpired`.
    """
    import subprocess

    command, variables = git_command(root, environment, *words, index=index, settings=settings)
    done = subprocess.run(  # noqa: S603 - git, found as the shell finds it
        command, env=variables, stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout, check=False
    )
    return done.returncode, done.stdout, done.stderr


def changed_files(root: str, environment: Mapping[str, str]) -> tuple[str, ...]:
    """Paths below `root` that differ from the last commit or are new, in code point order; empty without git.

    Deleted files and the files that make the workspace are left out.
    """
    paths = filter(_is_of_project, changed_paths(root, environment))
    return tuple(path for path in paths if os.path.lexists(os.path.join(root, path)))


def _is_of_project(path: str) -> bool:
    return not path.startswith((*WORKSPACE_PREFIXES, ".")) and path not in WORKSPACE_FILES


def tracked_files(workspace: Folder, environment: Mapping[str, str], depth: int) -> Sequence[str]:
    """Files of a workspace that git tracks, in code point order; empty without git. Of a revision, its files.

    The files that make the workspace are left out. What is below `depth` folders is one path, which ends in `/`.
    """
    listed = _listed_by_git(workspace.root, environment, "ls-files", "-z") if workspace.is_on_disk else None
    names = workspace.list("**/*") if listed is None else listed
    parts_of = (path.split("/") for path in filter(_is_of_project, names))
    return sorted({"/".join(parts[:depth]) + "/" * (len(parts) > depth) for parts in parts_of})


def changed_paths(root: str, environment: Mapping[str, str]) -> tuple[str, ...]:
    """Paths below `root` that differ from the last commit, new and deleted ones included; empty without git.

    `git diff HEAD` would list them, too, but it writes the index and looks into submodules by their own settings.
    """
    staged = _listed_by_git(root, environment, "diff-index", "--cached", "--name-only", "--relative", "-z", "HEAD")
    kinds = ("--modified", "--deleted", "--others", "--exclude-standard")
    unfiltered = _filter_settings(root, environment)
    unstaged = _listed_by_git(root, environment, "ls-files", *kinds, "-z", settings=unfiltered)
    return tuple(sorted({*staged, *unstaged}))


def repository_files(root: str, environment: Mapping[str, str]) -> Sequence[str]:
    """Files of the repository that are tracked or new, as paths below its top; empty without git."""
    words = "ls-files --cached --others --exclude-standard --full-name -z :/"
    return _listed_by_git(root, environment, *words.split())


MOST_COMMITS = 5000
"""Commits in which files that have left their place are looked for."""


def left_places(root: str, environment: Mapping[str, str]) -> Mapping[str, tuple[str, str]]:
    """For each path that a recent commit deleted or renamed, the day of the last such commit, and the new path.

    The new path is empty for a deletion. Paths are below the top of the repository. Empty without git.
    """
    form = ("-z", "--format=%x01%cs", "--name-status", "-l400", "--diff-filter=DR", f"--max-count={MOST_COMMITS}")
    words = ("log", "--no-relative", "--no-show-signature", "--no-ext-diff", "--no-textconv", *form)
    try:
        fields = iter(_listed_by_git(root, environment, *words, "--find-renames"))
    except ContextasmError:  # a partial clone lacks contents, which only changed files are compared by
        fields = iter(_listed_by_git(root, environment, *words, "--find-renames=100%"))
    left: dict[str, tuple[str, str]] = {}
    day = ""
    for field in map(str.lstrip, fields):
        if field[0] == "\x01":
            day = field[1:]
        else:
            path = next(fields)
            left.setdefault(path, (day, next(fields) if field[0] == "R" else ""))
    return left


def ignored_paths(root: str, environment: Mapping[str, str], paths: Sequence[str]) -> Sequence[str]:
    """The ones of some paths below the top of the repository that git ignores; empty without git."""
    if not paths:
        return ()
    lines = _listed_by_git(root, environment, "check-ignore", "--no-index", "--", *(f":/{each}" for each in paths))
    return [line.removeprefix(":/") for line in "".join(lines).splitlines()]


def _filter_settings(root: str, environment: Mapping[str, str]) -> Sequence[str]:
    """Settings that turn all filters off: git runs them on a file to find out whether it has changed.

    Raises `ContextasmError` for a filter that can't be turned off.
    """
    keys = _listed_by_git(root, environment, "config", "--null", "--name-only", "--get-regexp", r"^filter\.")
    names = {key.partition(".")[2].rpartition(".")[0] for key in keys}
    for name in names:
        if "=" in name:  # no option of git takes such a key
            hint = "rename the filter in the settings of the repository"
            raise ContextasmError("git", f"the filter {name} has `=` in its name", hint)
    return [f"filter.{name}.{key}={value}" for name in sorted(names) for key, value in _FILTER_SETTINGS.items()]


def current_branch(root: str, environment: Mapping[str, str]) -> str:
    """Name of the branch that is checked out, `HEAD` for none; empty without git or without a commit."""
    return "".join(_listed_by_git(root, environment, "rev-parse", "--abbrev-ref", "HEAD")).strip()


def repository_names(folders: Sequence[str], environment: Mapping[str, str]) -> Sequence[str]:
    """The folder of the repository that the first of the folders in one is in, and its address, if it has one.

    The folder also from `~` on. Outside of a repository it is the first of the folders; no address if git fails.
    """
    top = next(filter(None, map(repository_top, folders)), None)
    folder, home = real_path(top or folders[0]), environment.get("HOME", "/")
    names = [folder, *([f"~{folder[len(home) :]}"] if home.strip("/") and is_below(folder, home) else [])]
    with suppress(ContextasmError):
        urls = _listed_by_git(folder, environment, "ls-remote", "--get-url", "origin") if top else ()
        return [*names, *(repository_address(url.strip()) for url in urls if url.strip() != "origin")]
    return names


def _listed_by_git(
    root: str, environment: Mapping[str, str], *words: str, settings: Sequence[str] = ()
) -> Sequence[str]:
    """Items of git's output, one for each NUL; empty if git, a repository or a commit is missing.

    Raises `ContextasmError` if git fails for another reason, such as in a repository whose objects are damaged.
    """
    import subprocess

    try:
        code, output, messages = run_git(root, environment, *words, timeout=_TIMEOUT, settings=settings)
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise ContextasmError("git", f"can't be run: {error.strerror}", "correct the cause and try again") from error
    except subprocess.TimeoutExpired as error:
        hint = "remove the layer or the rule that uses git"
        raise ContextasmError("git", f"took over {_TIMEOUT} seconds", hint) from error
    if code:
        message = messages.decode(errors="replace")
        if not message or any(nothing in message.lower() for nothing in _NOTHING_TO_COMPARE):
            return ()
        raise git_failure(words[0], code, message)
    return [os.fsdecode(path) for path in output.split(b"\0") if path]


def git_failure(command: str, code: int, messages: str) -> ContextasmError:
    """The error of a git command that failed, in git's own words: its last line that names an error, else its first."""
    lines = [line for line in messages.splitlines() if line] or [f"ended with {code}"]
    what = next((line for line in reversed(lines) if line.startswith(("fatal:", "error:"))), lines[0])
    return ContextasmError(f"git {command}", what, "correct the cause and try again; `git fsck` finds damage")
