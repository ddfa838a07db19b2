"""Speed of masking secrets and of finding hidden characters: `python benchmarks/secret_scan.py`.

Each row goes through a text at each size and prints the CPU seconds, MB/s at the largest, and the exponent of the fit:
1 is linear, 2 quadratic. The first rows are prose, the others are made against one pattern or one kind each. The last
lines are the time for one file of 4 KB, which is the usual case. With `--smoke` the sizes are small, and an exponent
above 1.5 is an error.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable
from pathlib import Path
from time import process_time

from contextasm.text.cleaning.hidden_characters import strip_hidden
from contextasm.text.cleaning.secrets.scanner import mask_secrets

WORKSPACE = Path(__file__).parent.parent / "sample_workspace"
BASE64 = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/" * 2
KEY_HEADER = "-----BEGIN PRIVATE" + " KEY-----"

HOSTILE = (
    *("sk-", "sk-ant-", "glpat-", "xoxb-", "key-", "-us1", "-----BEGIN ", KEY_HEADER, f"{KEY_HEADER}\n", "-----END"),
    f"{KEY_HEADER}\n{BASE64[:64]}\n",
    *(
        "ghp_",
        "sk_live_",
        "_aaaaaaaaaaa",
        "eyJ",
        "-eyJ",
        ".eyJ",
        ".eyJaaaaaaaaaaa",
        "-eyJ" * 400 + "." + "eyJ" * 9 + ".",
    ),
    *("AKIA", "SK", "SK0123456789 ", "-M", "M" * 24 + ".", "12345678:", "1234567890:AA", "0" * 32 + "-"),
    *("aws", "awskey", "awskey ", "aws" + "key" * 8 + " " + BASE64[:39]),
    *("token=", "token= ", f"token={BASE64[:20]}", f"token={BASE64[:20]} ", "secret_token_password ", ":" + "a" * 15),
    *(
        "authorization: bearer ",
        "AccountKey=",
        "AccountKey=" + BASE64[:85],
        "://",
        "://a:",
        "://a:b",
        "://a:b@c",
        "://:" * 9,
    ),
    *("kind: Secret\n", "kind: Secret\ndata:\n", "kind: Secret\ndata:\n  a: abcdefgh\n", "kind:  ", "a: |\n "),
    *("[masked:x]", f"[masked aws key] {BASE64[:40]}", "ghp" + "_" + BASE64[:40] + " "),
    *("%20eyJ", "\\neyJ", "_ghp_", "_glpat-", "https://", "://:b:c", "<pass>", "-u a:", "login ", "login a password "),
    *("hooks.slack.com/services/TAAAAAAAAA", "https://discord.com/api/webhooks/", "whsec_", "&sig=" + BASE64[:30]),
    *(
        "AKIA2BCDEFGHIJKLMNOP ",
        'token=a\\"',
        'token", "',
        "--token ",
        "--a-",
        "api key ",
        "password\n  value:",
        "password: a1b!",
        "| password | Aa1",
        "password&#58;",
        "cookie: a=b; ",
        "cookie",
        f"cookie: a={BASE64[:20]}; ",
        "sbp_",
        "sk_a1.",
        "aa8Q~",
        "sk-a-",
        "sshpass -p a",
        "IDENTIFIED a by ",
        "create user a",
        "password: |\n ",
        ".0123456789abcdef",
        "$aaaaaaaaaaaaaaaa",
        "LTAIaaaaaaaaaaaa",
        "authorization: bearer a!",
    ),
    *("Private-Lines: 2\n", f"Private-Lines: 2\n{BASE64[:64]}\n", "kind: Secret\ndata:\n  a:\n"),
)
"""Units that are repeated, each made against a pattern of secrets."""

HIDDEN = {
    "one line": "w\u00f6rter ",
    "every other place": "a\u200b",
    "one run": "\u200b\u200c",
    "flags without an end": "\U0001f3f4\U000e0061\U000e0062\U000e0063",
    "marks of direction": "a.\u200e",
    "fillers": "\u3164\uffa0",
}
"""Units that are repeated, each made against a kind of hidden characters."""

STEEPEST = 1.5
"""The exponent above which `--smoke` fails."""


def main() -> None:
    """Print one line for each text."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="250000,500000,1000000")
    parser.add_argument("--smoke", action="store_true", help="small sizes; fails if a text takes more than linear time")
    given = parser.parse_args()
    sizes = [20_000, 200_000] if given.smoke else [int(size) for size in given.sizes.split(",")]
    pages = "\n".join(page.read_text(encoding="utf-8") for page in sorted(WORKSPACE.rglob("*.md")))
    prose = {"prose": pages, "prose, ASCII": pages.encode("ascii", "ignore").decode()}
    print(f"{'':36}" + "".join(f"{size:>10,}" for size in sizes) + "      MB/s  exponent")
    exponents = [
        *(print_row(name, mask_secrets, unit, sizes) for name, unit in prose.items()),
        *(print_row(repr(unit[:30]), mask_secrets, unit, sizes) for unit in HOSTILE),
        *(print_row(f"{name}", strip_hidden, unit, sizes) for name, unit in (prose | HIDDEN).items()),
    ]
    if given.smoke:
        sys.exit(max(exponents) > STEEPEST)
    files = [pages[at : at + 4096] for at in range(0, len(pages) - 4096, 4096)]
    plain = "The tide turns at noon, and the keeper writes the height of the water in the log: two metres. " * 44
    for name, texts in {"of the sample workspace": (files * 500)[:500], "of plain words": [plain[:4096]] * 500}.items():
        start = process_time()
        for text in texts:
            mask_secrets(text)
        print(f"a file of 4 KB {name}: {(process_time() - start) / len(texts) * 1e6:.1f} microseconds")


def print_row(name: str, work: Callable[[str], object], unit: str, sizes: list[int]) -> float:
    """Measure and print the text that repeats a unit; the exponent."""
    texts = [(unit * (size // len(unit) + 1))[:size] for size in sizes]
    seconds = [min(cpu_seconds(work, text) for _ in range(2)) for text in texts]
    exponent = math.log(seconds[-1] / seconds[0]) / math.log(sizes[-1] / sizes[0])
    speed = sizes[-1] / seconds[-1] / 1e6
    print(
        f"{name:36}" + "".join(f"{second:10.3f}" for second in seconds) + f"{speed:10.1f}{exponent:10.2f}", flush=True
    )
    return exponent


def cpu_seconds(work: Callable[[str], object], text: str) -> float:
    """CPU seconds of going through a text once; what takes less than a millisecond counts as one."""
    start = process_time()
    work(text)
    return max(process_time() - start, 1e-3)


if __name__ == "__main__":
    main()
