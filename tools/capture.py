"""Record what the command does, so that a change of the code can prove that it changed nothing.

    python tools/capture.py OUT [--package DIR] [--only WORD] [--jobs N]
    python tools/capture.py --compare A B [--lines N]

The first runs the command lines of `capture_commands.txt` and writes two files for each: in `OUT/documents` the exit
code, standard output and the files that changed, in `OUT/messages` standard error. The second tells what differs.

This is not a test: nothing here says what is right. Clocks are stopped, so times are not recorded. Left out are caches,
the content of `.tidy/` and of locks (numbers of files and processes), `watch`, a store with a server, and the
Python API.
"""

from __future__ import annotations

import argparse
import difflib
import fcntl
import hashlib
import itertools
import multiprocessing
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import NamedTuple, NoReturn
from unittest.mock import patch

from capture_workspaces import RANDOM, ROOT, Files, workspace

COMMANDS = Path(__file__).with_name("capture_commands.txt")
NOON = 1_741_953_600
"""14 March 2025, 12:00 UTC: the time in every run, and that of the last change of every file."""
LONGEST = 30_000
"""Bytes up to which a file is recorded as it is; a larger one by its digest."""
SECONDS = 90
"""Time after which a command counts as hanging."""
FIXED = {
    "PATH": os.defpath,
    "TZ": "UTC",
    "LC_ALL": "C.UTF-8",
    "COLUMNS": "100",
    "NO_COLOR": "1",
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
    "GIT_CONFIG_NOSYSTEM": "1",
    **{f"GIT_{who}_{what}": "ada" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
    **{f"GIT_{who}_DATE": f"{NOON} +0000" for who in ("AUTHOR", "COMMITTER")},
}
"""The environment of every command, but for its folders."""


class Case(NamedTuple):
    """Steps that are taken one after the other in a fresh copy of a workspace."""

    number: int
    workspace: str
    steps: Sequence[str]


class Seen(NamedTuple):
    """What earlier steps of a case left, which later ones name as $RECORD1, $ACTION, $MEMORY or $ETAG."""

    records: Sequence[str] = ()
    text: str = ""

    def fill(self, step: str) -> str:
        """The step with these names replaced."""
        for number, record in enumerate(self.records, start=1):
            step = step.replace(f"$RECORD{number}", record)
        for name, pattern in (
            ("$ACTION", r"(?m)^[0-9a-f]{8}\b"),
            ("$MEMORY", r"m-[0-9a-f]{12}"),
            ("$ETAG", r"\b[0-9a-f]{64}"),
        ):
            found = re.search(pattern, self.text)
            step = step.replace(name, found[0] if found else f"no-{name[1:].lower()}")
        return step


class Result(NamedTuple):
    """What one command came to, as it is written down."""

    name: str
    documents: str
    messages: str


def main() -> int:
    """The exit code: 1 if a comparison finds a difference."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("out", nargs="?", type=Path, help="folder to write to")
    parser.add_argument("--package", type=Path, default=ROOT, help="folder that holds the package contextasm")
    parser.add_argument("--only", default="", help="only cases with this word in a command line or a workspace's name")
    parser.add_argument("--jobs", type=int, default=2, help="cases at a time")
    parser.add_argument("--compare", nargs=2, type=Path, metavar=("A", "B"), help="compare two folders")
    parser.add_argument("--lines", type=int, default=30, help="most lines of a difference to show")
    words = parser.parse_args()
    if words.compare:
        return compare(words.compare[0], words.compare[1], words.lines)
    if words.out is None:
        parser.error("name the folder to write to")
    if os.environ.get("PYTHONHASHSEED") != FIXED["PYTHONHASHSEED"]:
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **FIXED, "PATH": os.environ["PATH"]})  # noqa: S606
    return capture(words.out, words.package.resolve(), words.only, words.jobs)


def capture(out: Path, package: Path, only: str, jobs: int) -> int:
    """Run all cases and write their files; the folder holds nothing else afterwards."""
    chosen = [case for case in cases() if only in case.workspace or any(only in step for step in case.steps)]
    for kind in ("documents", "messages"):
        shutil.rmtree(out / kind, ignore_errors=True)
        (out / kind).mkdir(parents=True)
    started, number = time.monotonic(), 0
    with multiprocessing.get_context("fork").Pool(jobs, _prepare, (package,)) as pool:
        for result in itertools.chain.from_iterable(pool.imap_unordered(_run_case, chosen)):
            number += 1
            (out / "documents" / result.name).write_text(result.documents, encoding="utf-8")
            (out / "messages" / result.name).write_text(result.messages, encoding="utf-8")
    print(f"{number} commands of {len(chosen)} cases in {time.monotonic() - started:.0f} s")
    return 0


def cases() -> Iterator[Case]:
    """The cases of the file: sections of lines, in which {a|b} stands for one line with each."""
    numbers, places = itertools.count(1), [""]
    for line in COMMANDS.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            places = [line[1:-1]]
            if line == "[random *]":
                places = [f"random {seed}" for seed in range(RANDOM)]
        elif line and not line.startswith("#"):
            for place, written in itertools.product(places, _variants(line)):
                yield Case(next(numbers), place, written.split(" ;; "))


def _variants(line: str) -> list[str]:
    choice = re.search(r"\{([^{}]*\|[^{}]*)\}", line)
    if not choice:
        return [line]
    lines = (line[: choice.start()] + each + line[choice.end() :] for each in choice[1].split("|"))
    return [variant for each in lines for variant in _variants(each)]


def _prepare(package: Path) -> None:
    """Import the command once for this process; every command is a fork of it."""
    os.environ["PYTHONPATH"] = str(package)
    sys.path.insert(0, str(package))
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    patch.object(time, "time", lambda: float(NOON)).start()
    patch.object(time, "perf_counter", lambda: 0.0).start()
    for name in ("rich.table", "tiktoken", "yaml"):
        import_module(name)
    main = import_module("contextasm.__main__")
    if not Path(str(main.__file__)).is_relative_to(package):
        raise SystemExit(f"{package}: no package contextasm here")
    for command in ("build", "check", "tidy", "search"):
        argv = patch.object(sys, "argv", ["ctxasm", command, "--help"])
        with argv, patch.object(os, "_exit", sys.exit), suppress(SystemExit):
            main.main()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _run_case(case: Case) -> list[Result]:
    """Every command of a case."""
    with _folder(case.number) as base:
        _write(base / "workspace", workspace(case.workspace))
        results, seen = [], Seen()
        for number, step in enumerate(map(str.strip, case.steps), start=1):
            if step.startswith("!"):
                _shell(step[1:], base)
                continue
            result, seen = _run_step(seen.fill(step), base, seen)
            words = re.sub(r"[^a-z0-9]+", "-", f"{case.workspace} {step.partition('<<')[0]}".lower())[:60].strip("-")
            results.append(result._replace(name=f"{case.number:03}-{number}-{words}.txt"))
        return results


@contextmanager
def _folder(number: int) -> Iterator[Path]:
    """An empty folder, at the same path in every run: digests are made of paths, too. Another run waits for it."""
    base = Path(tempfile.gettempdir(), f"ctxasm-capture-{os.getuid()}", f"{number:03}").resolve()
    base.mkdir(parents=True, exist_ok=True)
    handle = os.open(f"{base}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        shutil.rmtree(base, ignore_errors=True)
        for name in ("workspace", "home", "cache"):
            (base / name).mkdir(parents=True)
        yield base
        shutil.rmtree(base)
    finally:
        os.close(handle)


def _write(root: Path, files: Files) -> None:
    """Write a workspace; every file and folder was last changed at noon."""
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)
    for path in (root, *root.rglob("*")):
        os.utime(path, (NOON, NOON))


def _environment(base: Path) -> dict[str, str]:
    """The environment of a command, with its own home folder and cache."""
    own = {"HOME": str(base / "home"), "XDG_CACHE_HOME": str(base / "cache")}
    return {**FIXED, **own, "PYTHONPATH": os.environ["PYTHONPATH"]}


def _shell(line: str, base: Path) -> None:
    """A step that only prepares the next ones; if a command before it failed, it may fail."""
    subprocess.run(
        ["sh", "-ec", line], cwd=base / "workspace", env=_environment(base), check=False, capture_output=True
    )


def _run_step(step: str, base: Path, seen: Seen) -> tuple[Result, Seen]:
    """Run one command; what it did, and what later ones may name."""
    before = _files(base / "workspace")
    code = _run(step.replace("WORKSPACE", str(base / "workspace")), base)
    after = _files(base / "workspace")
    line, out, err = (
        _shown(data, base) for data in (step.encode(), (base / "out").read_bytes(), (base / "err").read_bytes())
    )
    records = [Path(name).stem for name in after if name not in before and name.startswith(".ctxasm/records/")]
    changes = "".join(_changes(before, after, base))
    documents = f"$ ctxasm {line}\nexit code {code}\n== standard output\n{out}\n{changes}"
    return Result("", documents, f"$ ctxasm {line}\n{err}"), Seen((*seen.records, *sorted(records)), f"{out}\n{err}")


def _run(step: str, base: Path) -> int:
    """Run `KEY=VALUE WORD ... <<INPUT` in a fork of this process; returns the exit code."""
    line, has_input, given = step.partition("<<")
    (base / "input").write_text(given.replace(r"\n", "\n"), encoding="utf-8")
    words = shlex.split(line)
    count = sum(1 for _ in itertools.takewhile(re.compile("[A-Z_]+=").match, words))
    settings = dict(word.split("=", 1) for word in words[:count])
    streams = (base / "input" if has_input else Path(os.devnull), base / "out", base / "err")
    process = os.fork()
    if not process:
        _become(words[count:], {**_environment(base), **settings}, base / "workspace", streams)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def _become(words: Sequence[str], env: Mapping[str, str], folder: Path, streams: Sequence[Path]) -> NoReturn:
    """Be the process of a command."""
    try:
        signal.alarm(SECONDS)
        for handle, path in enumerate(streams):
            os.dup2(os.open(path, os.O_RDONLY if handle == 0 else os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), handle)
        sys.stdin = open(0, encoding="utf-8", errors="surrogateescape", closefd=False)  # noqa: SIM115
        sys.stdout = open(1, "w", encoding="utf-8", errors="surrogateescape", closefd=False)  # noqa: SIM115
        os.environ.clear()
        os.environ.update(env)
        os.chdir(folder)
        sys.argv = ["ctxasm", *words]
        sys.modules["contextasm.__main__"].main()
    finally:
        traceback.print_exc()
        os._exit(99)


def _files(root: Path) -> Mapping[str, tuple[int, bytes]]:
    """Mode and content of each file that is compared; of those that name processes and inodes, only that they exist."""
    found: dict[str, tuple[int, bytes]] = {}
    for folder, folders, names in os.walk(root):
        place = os.path.relpath(folder, root)
        folders[:] = [name for name in folders if name != ".git" and f"{place}/{name}" != ".ctxasm/memories"]
        for name in names:
            path = Path(folder, name)
            is_own = place.startswith(".tidy") or (place == ".ctxasm" and name.endswith("lock"))
            content = b"" if is_own else path.read_bytes()
            found[os.path.relpath(path, root)] = (path.lstat().st_mode & 0o777, content)
    return found


def _changes(
    before: Mapping[str, tuple[int, bytes]], after: Mapping[str, tuple[int, bytes]], base: Path
) -> Iterator[str]:
    """A paragraph for each file that came, went or changed."""
    for name in sorted({*before, *after}):
        if name not in after:
            yield f"== removed {name}\n"
        elif before.get(name) != after[name]:
            mode, content = after[name]
            word = "changed" if name in before else "written"
            yield f"== {word} {name} ({mode:o}, {len(content)} bytes)\n{_text(content, base)}\n"
            if not name.startswith((".tidy/", ".ctxasm/")):
                os.utime(base / "workspace" / name, (NOON, NOON))


def _text(content: bytes, base: Path) -> str:
    """A file's content, or its digest if it is long or not text."""
    if b"\0" in content or len(content) > LONGEST:
        return hashlib.sha256(content).hexdigest()
    return _shown(content, base)


def _shown(data: bytes, base: Path) -> str:
    """Text without the paths of this machine; bytes that are not text, and carriage returns, are written as escapes."""
    text = data.decode("utf-8", "backslashreplace").replace("\r", "\\r")
    for path, word in ((base / "workspace", "WORKSPACE"), (base, "BASE"), (os.environ["PYTHONPATH"], "PACKAGE")):
        text = text.replace(str(path), word)
    return text


def compare(one: Path, other: Path, most: int) -> int:
    """Print what differs between two folders, documents first; returns 1 if something does."""
    counts = []
    for kind in ("documents", "messages"):
        names = sorted({path.name for each in (one, other) for path in (each / kind).glob("*.txt")})
        differing = [name for name in names if _read(one / kind / name) != _read(other / kind / name)]
        for name in differing:
            _print_difference(one / kind / name, other / kind / name, most)
        counts.append(f"{len(differing)} of {len(names)} {kind} differ")
    print("; ".join(counts))
    return int(any(not each.startswith("0 ") for each in counts) or not names)


def _print_difference(old: Path, new: Path, most: int) -> None:
    lines = [*difflib.unified_diff(_read(old), _read(new), str(old), str(new), lineterm="")]
    print("\n".join([f"{new.parent.name}/{new.name}", *lines[:most]]))
    if len(lines) > most:
        print(f"... {len(lines) - most} more lines")
    print()


def _read(path: Path) -> list[str]:
    """The lines of a file, none if it is missing."""
    return path.read_text(encoding="utf-8").split("\n") if path.exists() else []


if __name__ == "__main__":
    sys.exit(main())
