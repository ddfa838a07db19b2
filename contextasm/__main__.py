"""The process: `ctxasm`, or `python -m contextasm`."""

from __future__ import annotations

import gc
import os
import sys


def main() -> None:
    """Run the command line and end the process with its exit code.

    A build lives a tenth of a second: it collects no garbage, and it ends without taking the interpreter apart, which
    would take an eighth of that (benchmarks/run.py).
    """
    _fill_gaps()
    if sys.argv[1:] == ["--version"]:
        os._exit(_version())
    gc.disable()
    try:
        from contextasm.cli.app import run
        from contextasm.config.input.libyaml import import_libyaml

        import_libyaml()
        code = run(sys.argv[1:])
    except KeyboardInterrupt:
        code = 130
    os._exit(code)


def _fill_gaps() -> None:
    """Have standard streams that are closed not become files that are opened later: what is written there fails."""
    for handle in range(3):
        try:
            os.fstat(handle)
        except OSError:
            os.open(os.devnull, os.O_RDONLY)


def _version() -> int:
    """Print the version; the exit code."""
    from contextasm import __version__

    try:
        os.write(1, f"ctxasm {__version__}\n".encode())
    except BrokenPipeError:
        return 141
    except OSError as error:
        os.write(2, f"ctxasm: error: standard output: {error.strerror}: redirect it to a file\n".encode())
        return 2
    return 0


if __name__ == "__main__":
    main()
