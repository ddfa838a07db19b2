"""Speed of masking secrets: `python benchmarks/secret_scan.py [--sizes 250000,500000,1000000]`.

Each row masks a text at three sizes and prints the CPU seconds of each, MB/s at the largest, and the exponent of the
fit: 1 is linear, 2 quadratic. The first rows are prose, the others are made against one pattern each. The last
lines are the time for one file of 4 KB, which is the usual case. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from time import process_time

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
)
"""Units that are repeated."""


def main() -> None:
    """Print one line for each text."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="250000,500000,1000000")
    sizes = [int(size) for size in parser.parse_args().sizes.split(",")]
    pages = "\n".join(page.read_text(encoding="utf-8") for page in sorted(WORKSPACE.rglob("*.md")))
    print(f"{'':36}" + "".join(f"{size:>10,}" for size in sizes) + "      MB/s  exponent")
    for name, unit in {"prose": pages, "prose, ASCII": pages.encode("ascii", "ignore").decode()}.items():
        print_row(name, unit, sizes)
    for unit in HOSTILE:
        print_row(repr(unit[:30]), unit, sizes)
    files = [pages[at : at + 4096] for at in range(0, len(pages) - 4096, 4096)]
    plain = "The tide turns at noon, and the keeper writes the height of the water in the log: two metres. " * 44
    for name, texts in {"of the sample workspace": (files * 500)[:500], "of plain words": [plain[:4096]] * 500}.items():
        start = process_time()
        for text in texts:
            mask_secrets(text)
        print(f"a file of 4 KB {name}: {(process_time() - start) / len(texts) * 1e6:.1f} microseconds")


def print_row(name: str, unit: str, sizes: list[int]) -> None:
    """Measure and print the text that repeats a unit."""
    seconds = [min(cpu_seconds((unit * (size // len(unit) + 1))[:size]) for _ in range(2)) for size in sizes]
    exponent = math.log(seconds[-1] / seconds[0]) / math.log(sizes[-1] / sizes[0])
    speed = sizes[-1] / seconds[-1] / 1e6
    print(
        f"{name:36}" + "".join(f"{second:10.3f}" for second in seconds) + f"{speed:10.1f}{exponent:10.2f}", flush=True
    )


def cpu_seconds(text: str) -> float:
    """CPU seconds of masking a text once."""
    start = process_time()
    mask_secrets(text)
    return max(process_time() - start, 1e-7)


if __name__ == "__main__":
    main()
