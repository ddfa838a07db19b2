"""The process: `ctxasm`, or `python -m contextasm`."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line and end the process with its exit code."""
    if sys.argv[1:] == ["--version"]:
        from contextasm import __version__

        print(f"ctxasm {__version__}")
        return
    try:
        from contextasm.cli import run

        code = run(sys.argv[1:])
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)


if __name__ == "__main__":
    main()
