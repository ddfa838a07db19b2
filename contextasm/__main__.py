"""The process: `ctxasm`, or `python -m contextasm`."""

from __future__ import annotations

import gc
import os
import sys

_SETUP = {"--print-config", "--install", "--uninstall", "--help"}
"""Options of `hook` with which a person sets it up: no event is answered."""


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
        code = _run(sys.argv[1:])
    except KeyboardInterrupt:
        code = 130
    os._exit(code)


def _run(words: list[str]) -> int:
    """Run a command line, or write again what it wrote before; returns the exit code."""
    is_event = words[:1] == ["hook"] and not any(word.partition("=")[0] in _SETUP for word in words)
    if is_event and os.environ.get("CTXASM_HOOK", "").lower() in ("off", "0", "no"):
        if sys.stdin and not sys.stdin.isatty():
            sys.stdin.buffer.read()  # a host may fail if nobody reads what it writes
        os.write(1, b"{}\n")
        return 0
    if words[:1] in (["build"], ["hook"]):
        from contextasm.cli.stored_output import run_or_replay  # here, as below: nothing that is not needed

        return run_or_replay(words, _run_command)
    return _run_command(words)


def _run_command(words: list[str]) -> int:
    """Run a command line; returns the exit code."""
    from contextasm.cli.app import run
    from contextasm.config.input.libyaml import import_libyaml

    import_libyaml()
    return run(words)


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
