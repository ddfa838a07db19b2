"""Builds of one MCP server beside one process a build: `python benchmarks/mcp_builds.py [--builds 200]`.

Needs the extra `mcp`. The server is asked over standard streams, as a host asks it, for contexts of the sample
workspace on changing topics. Nothing is asserted; half the builds in less than 10 ms is the aim.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence

from mcp import Client, StdioServerParameters, stdio_client
from run import SAMPLE

TOPICS = ("the demo date", "who breaks the lamp", "Japanese text", "the save that was lost", "")


def main() -> None:
    """Measure both, and print builds a second and the time of half of the builds."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--builds", type=int, default=200, metavar="N", help="builds of the server; of processes, a tenth"
    )
    parser.add_argument("--python", default=sys.executable, help="interpreter that has ctxasm")
    arguments = parser.parse_args()
    served = asyncio.run(_served(arguments.python, arguments.builds))
    spawned = [_process(arguments.python, TOPICS[number % len(TOPICS)]) for number in range(arguments.builds // 10)]
    print(f"{'':24}{'builds/s':>10}{'p50 ms':>10}{'p95 ms':>10}")
    for name, times in (("one server", served), ("a process a build", spawned)):
        p50, p95 = statistics.median(times), sorted(times)[int(len(times) * 0.95)]
        print(f"{name:24}{len(times) / sum(times):>10.1f}{p50 * 1000:>10.1f}{p95 * 1000:>10.1f}")


async def _served(python: str, builds: int) -> Sequence[float]:
    """Seconds of each build, the first one left out."""
    words = ["-m", "contextasm", "mcp", "-w", str(SAMPLE), "-a", "luna", "-t", "q1"]
    times = []
    async with Client(stdio_client(StdioServerParameters(command=python, args=words))) as client:
        for number in range(builds + 1):
            started = time.perf_counter()
            result = await client.call_tool("build_context", {"topic": TOPICS[number % len(TOPICS)]})
            times.append(time.perf_counter() - started)
            assert not result.is_error
    return times[1:]


def _process(python: str, topic: str) -> float:
    started = time.perf_counter()
    command = [python, "-m", "contextasm", "build", "-q", "-w", str(SAMPLE), "-a", "luna", "-t", "q1", "--topic", topic]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
