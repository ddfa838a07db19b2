"""The process: `ctxasm`, or `python -m contextasm`."""

from __future__ import annotations

import gc
import os
import sys


def main() -> None:
    """Run the command line and end the process with its exit code.

    A build lives a tenth of a second: it collects no garbage, and it ends without taking the interpreter apart, which
    would take an eighth of that (measured; benchmarks/run.py).
    """
    if sys.argv[1:] == ["--version"]:
        from contextasm import __version__

        print(f"ctxasm {__version__}")
        return
    gc.disable()
    try:
        from contextasm.cli import run

        code = run(sys.argv[1:])
    except KeyboardInterrupt:
        code = 130
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):  # closed, or nobody there to read it
            code = code or 141
    os._exit(code)


if __name__ == "__main__":
    main()
