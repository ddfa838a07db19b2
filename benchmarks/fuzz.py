"""Faults of readers on hostile bytes: `python benchmarks/fuzz.py SECONDS [--seed N] [--only NAME,...] [--again FILE]`.

Each target of `fuzz_targets.py` reads random bytes, and texts of the sample workspace and of the tests that were
changed at random: parts repeated, dropped, swapped or taken from another text. Every fault is saved to a file and
printed in one line; the last lines are the executions and faults of each target, and the seed. `--again` runs the file
of one fault. The exit code is 1 where there were faults.
"""

from __future__ import annotations

import argparse
import ast
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from random import Random

from fuzz_targets import Run, make_workspace, targets

from contextasm.model import ContextasmError

ROOT = Path(__file__).resolve().parent.parent
LONGEST = 20_000
"""Bytes of an input."""
LIMIT = 10.0
"""Seconds after which one run counts as hanging."""

TOKENS = tuple(
    part.encode("utf-8", "surrogatepass")
    for part in (
        *(
            "\n",
            "\r\n",
            "\r",
            "\t",
            " ",
            "  ",
            "\u2028",
            "\x85",
            "\ufeff",
            "\x00",
            "\x1b[2J",
            "\u202e",
            "\u200b",
            "\ud800",
        ),
        *(
            "- ",
            "- [fact] ",
            "---\n",
            "```",
            "~~~",
            "# ",
            "## Identity",
            "<!--",
            "-->",
            "<div>",
            "{id=a}",
            "{private=true}",
        ),
        *("<!-- ctxasm:begin -->\n", "<!-- ctxasm:end -->\n", "<!-- private -->", "| a |\n|--|\n", "===", "> "),
        *(
            "[",
            "]",
            "{",
            "}",
            '"',
            "'",
            ":",
            ": ",
            ",",
            "&a ",
            "*a",
            "<<: ",
            "!!int ",
            "|\n",
            ">\n",
            "? ",
            "%YAML 1.1\n",
        ),
        *("null", "true", "1e999", "-0", "NaN", "9" * 400, "2025-02-30", "9999-12-31", "0001-01-01T00:00:00+14:00"),
        *(
            "\\ud800",
            "\\u0000",
            "\\x1b",
            "\\",
            "**/",
            "*",
            "?",
            "[!a]",
            "(a+)+",
            "(?:",
            "{1000}",
            "..",
            "/",
            "::error::",
        ),
        *("AKIA", "ghp_" + "a1B2" * 9, "password=", "://u:", "@h ", "-----BEGIN PRIVATE" + " KEY-----\n", "eyJ", "sk-"),
        *(
            '{"type": "turn", "content": ',
            "tasks:\n",
            "parent: ",
            "extends: default\n",
            "layers:\n",
            "when: ",
            "then: ",
        ),
    )
)
"""Parts that mean something to one of the readers."""

Change = Callable[[Random, bytes, bytes], bytes]


def _span(random: Random, data: bytes) -> tuple[int, int]:
    start = random.randrange(len(data) + 1)
    return start, min(len(data), start + int(2 ** random.uniform(0, 10)))


def _insert_token(random: Random, data: bytes, _other: bytes) -> bytes:
    at = random.randrange(len(data) + 1)
    return data[:at] + random.choice(TOKENS) * random.choice((1, 1, 1, 2, 3, 60, 1000)) + data[at:]


def _insert_bytes(random: Random, data: bytes, _other: bytes) -> bytes:
    at = random.randrange(len(data) + 1)
    return data[:at] + random.randbytes(random.randrange(1, 9)) + data[at:]


def _drop(random: Random, data: bytes, _other: bytes) -> bytes:
    start, end = _span(random, data)
    return data[:start] + data[end:]


def _repeat(random: Random, data: bytes, _other: bytes) -> bytes:
    start, end = _span(random, data)
    return data[:start] + data[start:end] * random.choice((2, 3, 50)) + data[end:]


def _flip(random: Random, data: bytes, _other: bytes) -> bytes:
    at = random.randrange(len(data) or 1)
    return data[:at] + bytes([data[at] ^ 1 << random.randrange(8)]) + data[at + 1 :] if data else data


def _splice(random: Random, data: bytes, other: bytes) -> bytes:
    start, end = _span(random, other)
    at = random.randrange(len(data) + 1)
    return data[:at] + other[start:end] + data[at:]


def _shuffle_lines(random: Random, data: bytes, other: bytes) -> bytes:
    lines = [*data.split(b"\n"), *other.split(b"\n")[:9]]
    random.shuffle(lines)
    return b"\n".join(lines[: random.randrange(1, 40)])


def _truncate(random: Random, data: bytes, _other: bytes) -> bytes:
    return data[: random.randrange(len(data) + 1)]


def _as_utf_16(_random: Random, data: bytes, _other: bytes) -> bytes:
    return data.decode("utf-8", "replace").encode("utf-16")


CHANGES: Sequence[Change] = (
    *(_insert_token, _insert_token, _insert_token, _insert_bytes, _drop, _repeat, _flip),
    *(_splice, _splice, _shuffle_lines, _truncate, _as_utf_16),
)


def changed(random: Random, seeds: Sequence[bytes]) -> bytes:
    """A text after some changes, or random bytes."""
    if random.random() < 0.02:
        return random.randbytes(random.randrange(200))
    data = random.choice(seeds)
    for _ in range(random.choice((1, 1, 2, 3, 5, 8))):
        data = random.choice(CHANGES)(random, data, random.choice(seeds))[:LONGEST]
    return data


def seed_texts() -> Sequence[bytes]:
    """The files of the sample workspace, the shipped profiles, and each text in the source of a test."""
    files = [*(ROOT / "sample_workspace").rglob("*.*"), *(ROOT / "contextasm").rglob("*.yaml")]
    found = {path.read_bytes()[:LONGEST] for path in files if path.is_file()}
    for path in sorted((ROOT / "tests").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes) and len(node.value) > 1:
                value = node.value
                found.add(value if isinstance(value, bytes) else value.encode("utf-8", "surrogatepass"))
    return sorted(found)


def seeds_of(run: Run, texts: Sequence[bytes]) -> Sequence[bytes]:
    """The texts that a target accepts, so that changes go behind its first lines; all of them if none is accepted."""
    return [text for text in texts if _is_accepted(run, text)] or texts


def _is_accepted(run: Run, data: bytes) -> bool:
    # A text with a fault counts: its changes are tried, and the fault is told then.
    try:
        run(data)
    except ContextasmError:
        return False
    except Exception:  # noqa: BLE001 - as in `fault_of`
        return True
    return True


def fault_of(run: Run, data: bytes) -> BaseException | None:
    """The fault of one run; None where there is none."""
    signal.setitimer(signal.ITIMER_REAL, LIMIT)
    try:
        run(data)
    except ContextasmError:
        return None
    except Exception as error:  # noqa: BLE001 - whatever comes out is what is looked for
        return error
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return None


def _hangs(*_: object) -> None:
    raise TimeoutError(f"no end after {LIMIT} seconds")


def told(error: BaseException) -> str:
    """A fault in one line: the exception and the innermost place in the package."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "/contextasm/" in frame.filename]
    place = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "law"
    return f"{place}: {type(error).__name__}: {' '.join(str(error).split())[:120]!r}"


def fuzz(seconds: float, seed: int, runs: dict[str, Run], folder: Path) -> tuple[Counter[str], Counter[str]]:
    """Run the targets in turn for this time; executions and faults by target."""
    executions, faults, seen = Counter[str](), Counter[str](), set[str]()
    texts = seed_texts()
    seeds = {name: seeds_of(run, texts[:: 40 if name == "build" else 1]) for name, run in runs.items()}
    stop = time.monotonic() + seconds
    number = 0
    with (folder / "last").open("wb", buffering=0) as last:
        while time.monotonic() < stop:
            number += 1
            random = Random(f"{seed}:{number}")  # noqa: S311 - no secret
            name = random.choice(list(runs))
            # As many bytes of another target's texts as of its own: a file may hold anything.
            data = changed(random, seeds[name] if random.random() < 0.8 else texts)
            last.truncate(0)
            last.seek(0)
            last.write(data)  # a run that ends the process leaves it
            executions[name] += 1
            if error := fault_of(runs[name], data):
                faults[name] += 1
                _tell(name, error, data, folder, seen)
    return executions, faults


def _tell(name: str, error: BaseException, data: bytes, folder: Path, seen: set[str]) -> None:
    """Save a fault and print its line, unless one like it was printed."""
    line = told(error)
    key = f"{name} {line.partition(': ')[0]} {type(error).__name__} {line if 'Law' in line else ''}"
    if key not in seen:
        seen.add(key)
        file = folder / f"{name}-{sha256(data).hexdigest()[:12]}"
        file.write_bytes(data)
        print(f"{name}: {line}: {file}", flush=True)


def main() -> None:
    """Run, and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seconds", type=float, nargs="?", default=60)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--only", default="", help="names of targets, separated by commas")
    parser.add_argument("--again", default="", help="the file of a fault")
    asked = parser.parse_args()
    signal.signal(signal.SIGALRM, _hangs)
    workspace = make_workspace()
    try:
        runs = dict(targets(workspace))
        if asked.again:
            runs[Path(asked.again).name.partition("-")[0]](Path(asked.again).read_bytes())
            return
        only = set(asked.only.split(",")) if asked.only else set(runs)
        folder = Path(tempfile.mkdtemp(prefix="ctxasm-faults-"))
        chosen = {name: run for name, run in runs.items() if name in only}
        executions, faults = fuzz(asked.seconds, asked.seed, chosen, folder)
    finally:
        shutil.rmtree(workspace.root)
    for name in chosen:
        print(f"{name:<14}{executions[name]:>10,} runs {faults[name]:>6,} faults")
    print(f"{'all':<14}{executions.total():>10,} runs {faults.total():>6,} faults, seed {asked.seed}, in {folder}")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
