"""The real command: run as a process of its own with a clean environment, or inside this one where that is enough.

Nothing of the person who runs the tests gets in: no `CTXASM_*`, no home folder, no cache.
"""

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout, suppress
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import NamedTuple, NoReturn, TextIO, cast
from unittest.mock import patch

from contextasm.cli.app import run

COMMAND = (sys.executable, "-m", "contextasm")

UNPRIVILEGED = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.geteuid() == 0 else []
"""Before a command, to have it obey the modes of files: those of the administrator do not."""

ROOT = Path(__file__).resolve().parent.parent
"""The repository."""

CASES = ROOT / "tests" / "cases"
"""The files with the golden cases."""

SAMPLE = ROOT / "sample_workspace"
"""The workspace that comes with the source; its `ctxasm.yaml` names the day."""

LUNA = ("-w", str(SAMPLE), "-a", "luna", "-t", "q1")
"""The usual request to it."""

SMALL: Mapping[str, str] = {"agents/a/IDENTITY.md": "I am a.\n", "agents/a/INSTRUCTIONS.md": "Do it.\n"}
"""The files of the smallest workspace: one agent, `a`."""

SMALL_TEXT = "## Identity\nI am a.\n\n## Instructions\nDo it.\n"
"""What is built of it."""

TIMEOUT = 30.0
"""Seconds after which a process counts as hanging."""

HOME = ""
"""Home folder of every run; `conftest.py` makes one for the session."""

_ERROR = re.compile(r"ctxasm: error: \S.*?: \S.*: \S.*\n")


class Result(NamedTuple):
    """What a command line came to."""

    code: int
    """The exit code; a signal that ended the process is negative."""
    out: str
    err: str


def clean(env: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of every run, with what a test adds."""
    # Where the tests are told to find the package, its processes find it too.
    path = {key: os.environ[key] for key in ("PYTHONPATH",) if key in os.environ}
    plain = {"PATH": os.defpath, "HOME": HOME, "XDG_CACHE_HOME": f"{HOME}/cache", "LANG": "C.UTF-8"}
    plain["CTXASM_NO_REPLAY"] = "1"  # a test would see the output of an earlier one
    return {**plain, **path, **(env or {})}


def ctxasm(
    *words: str | Path,
    cwd: Path | str = "/",
    env: Mapping[str, str] | None = None,
    stdin: str | bytes | int = subprocess.DEVNULL,
) -> Result:
    """Run the command as a process; `stdin` is text, bytes, or an open file."""
    return _run([*COMMAND, *map(str, words)], cwd=cwd, env=clean(env), stdin=stdin)


def shell(
    script: str,
    *words: str | Path,
    cwd: Path | str = "/",
    env: Mapping[str, str] | None = None,
    stdin: str | bytes | int = subprocess.DEVNULL,
) -> Result:
    """Run a shell's line in which `"$@"` stands for the command with these words."""
    return _run(["sh", "-c", script, "sh", *COMMAND, *map(str, words)], cwd=cwd, env=clean(env), stdin=stdin)


def _run(
    command: Sequence[str], *, cwd: Path | str, env: Mapping[str, str], stdin: str | bytes | int = subprocess.DEVNULL
) -> Result:
    done = subprocess.run(
        command,
        cwd=cwd,
        env=env,
        stdin=stdin if isinstance(stdin, int) else None,
        input=None if isinstance(stdin, int) else stdin.encode() if isinstance(stdin, str) else stdin,
        capture_output=True,
        timeout=TIMEOUT,
        check=False,
    )
    return Result(done.returncode, done.stdout.decode(), done.stderr.decode())


def on_terminal(
    *words: str | Path,
    columns: int = 100,
    env: Mapping[str, str] | None = None,
    with_errors: bool = False,
    code: int = 0,
) -> str:
    """What the command writes to a terminal of this width, which it reads from, too; it ends with the exit code."""
    outer, inner = pty.openpty()
    fcntl.ioctl(outer, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    process = subprocess.Popen(
        [*COMMAND, *map(str, words)],
        env=clean({"TERM": "xterm-256color", **(env or {})}),
        stdin=inner,
        stdout=inner,
        stderr=inner if with_errors else subprocess.DEVNULL,
    )
    os.close(inner)
    shown = b""
    with suppress(OSError):  # Linux says so if the other end is closed
        while part := os.read(outer, 1 << 16):
            shown += part
    os.close(outer)
    assert process.wait(TIMEOUT) == code
    return shown.decode().replace("\r\n", "\n")


def inside(
    *words: str | Path,
    cwd: Path | str = "/",
    env: Mapping[str, str] | None = None,
    stdin: str | bytes | None = None,
    run: Callable[[list[str]], int] = run,
) -> Result:
    """Run the command in this process: quicker, and the same but for what a process itself brings along."""
    with time_limit(TIMEOUT), _restored_sigterm(), _redirected(1) as out, _redirected(2) as err, _input(stdin):
        with chdir(cwd), patch.dict(os.environ, clean(env), clear=True), redirect_stdout(out), redirect_stderr(err):
            code = run([str(word) for word in words])
        out.flush()
        err.flush()
        return Result(code, *(Path(stream.name).read_bytes().decode() for stream in (out, err)))


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Interrupt what hangs; a limit outside of this one goes on after it."""

    def interrupt(*_: object) -> NoReturn:
        raise TimeoutError(f"no end after {seconds} seconds")

    handler = signal.signal(signal.SIGALRM, interrupt)
    outside = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, *outside)
        signal.signal(signal.SIGALRM, handler)


@contextmanager
def _restored_sigterm() -> Iterator[None]:
    """Put back the handler that a command replaces."""
    handler = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, handler)


@contextmanager
def _input(content: str | bytes | None) -> Iterator[None]:
    """Let standard input hold a text, or bytes."""
    data = content.encode() if isinstance(content, str) else content
    with patch("sys.stdin", sys.stdin if data is None else TextIOWrapper(BytesIO(data))):
        yield


@contextmanager
def _redirected(handle: int) -> Iterator[TextIO]:
    """Have whatever is written to a standard stream go into a file, by its number as by what this yields."""
    saved = os.dup(handle)
    try:
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", newline="") as file:
            os.dup2(file.fileno(), handle)
            yield cast("TextIO", file)
    finally:
        os.dup2(saved, handle)
        os.close(saved)


def refused(result: Result, *parts: str, code: int = 2) -> None:
    """Assert that the command refused: this code, nothing on standard output, one line on the other with the parts."""
    assert result.code == code, result.err
    assert result.out == ""
    assert _ERROR.fullmatch(result.err), result.err
    assert [part for part in parts if part not in result.err] == [], result.err


def held_against(golden: Path, text: str) -> None:
    """Assert that a golden file holds this text; `UPDATE_CASES=1` in the environment writes it there."""
    if os.environ.get("UPDATE_CASES"):
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")


def fill(folder: Path, files: Mapping[str, str | bytes], *, base: Mapping[str, str] = SMALL) -> Path:
    """Make a workspace of these files, on top of those in `base`; the folder again."""
    contents = {os.path.join(folder, path): content for path, content in {**base, **files}.items()}
    for parent in {os.path.dirname(path) for path in contents}:
        os.makedirs(parent, exist_ok=True)
    for path, content in contents.items():
        with open(path, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
    return folder


def start(*words: str | Path, cwd: Path | str = "/", **streams: int | None) -> subprocess.Popen[bytes]:
    """Begin the command as a process and leave it running; `streams` are those of `subprocess.Popen`."""
    return subprocess.Popen([*COMMAND, *map(str, words)], cwd=cwd, env=clean(), **streams)  # type: ignore[call-overload,no-any-return]


def python(script: str, *words: str | Path, env: Mapping[str, str] | None = None) -> Result:
    """Run a script of Python with these words in its `sys.argv[1:]`, in a clean environment."""
    return _run([sys.executable, "-c", script, *map(str, words)], cwd="/", env=clean(env))


def lines_of(path: Path) -> Sequence[str]:
    """The lines of a file."""
    return path.read_text(encoding="utf-8").split("\n")


def ends(process: int) -> bool:
    """Whether a process is gone within a while, or is nothing but an entry in its parent's table."""
    for _ in range(200):
        try:
            state = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state == "Z":
            return True
        time.sleep(0.02)
    return False
