"""The installed command, asked many times in a row: a call is a forked child of a process that has its modules loaded.

The child runs the entry point of the console script with the words it is given, so no internal name is relied on, and
no call leaves anything in memory for the next. Measures nothing.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module, metadata
from pathlib import Path
from pkgutil import walk_packages
from typing import NamedTuple, NoReturn


class Answer(NamedTuple):
    """What a call came to."""

    code: int
    out: str
    err: str


class WarmCommand:
    """`ctxasm` of an environment, until it is closed."""

    def __init__(self, python: Path, trusted: Iterable[Path] = ()) -> None:
        self.environment = {**clean_environment(), "CTXASM_TRUST": os.pathsep.join(map(str, trusted))}
        self._server = subprocess.Popen(
            [python, "-P", Path(__file__).resolve(), "serve"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=self.environment,
            cwd="/",
            text=True,
            encoding="utf-8",
        )

    def __call__(self, *words: str) -> Answer:
        """The exit code and both streams of `ctxasm WORDS`."""
        assert self._server.stdin
        assert self._server.stdout
        self._server.stdin.write(json.dumps(words) + "\n")
        self._server.stdin.flush()
        reply = self._server.stdout.readline()
        if not reply:
            raise SystemExit("the process that runs ctxasm ended: is the package installed there?")
        return Answer(*json.loads(reply))

    def close(self) -> None:
        """End the process."""
        assert self._server.stdin
        self._server.stdin.close()
        self._server.wait()


def clean_environment() -> Mapping[str, str]:
    """The environment without what would change a build."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("CTXASM", "SOURCE_DATE_EPOCH"))}


def serve() -> None:
    """Answer each line of standard input, the words of a call as JSON, with a line of JSON."""
    (entry,) = metadata.entry_points(group="console_scripts", name="ctxasm")
    package = import_module(entry.module.partition(".")[0])
    for module in walk_packages(package.__path__, f"{package.__name__}."):
        if not module.name.endswith("__main__"):
            with contextlib.suppress(ImportError):  # an extra that is not installed
                import_module(module.name)
    command = entry.load()
    for line in sys.stdin:
        print(json.dumps(_answer(command, json.loads(line))), flush=True)


def _answer(command: Callable[[], int | None], words: list[str]) -> Answer:
    """One call, in a child."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if not child:
            with open(os.devnull, "rb") as nothing:
                for number, stream in enumerate((nothing, out, err)):
                    os.dup2(stream.fileno(), number)
            _run(command, words)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        texts = []
        for stream in (out, err):
            stream.seek(0)
            texts.append(stream.read().decode())
        return Answer(code, *texts)


def _run(command: Callable[[], int | None], words: list[str]) -> NoReturn:
    """Run the command as its script does, and end the process."""
    sys.argv = ["ctxasm", *words]
    code: object = 70
    try:
        code = command()
    except SystemExit as end:
        code = end.code
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code if isinstance(code, int) else int(code is not None))


if __name__ == "__main__":
    serve()
