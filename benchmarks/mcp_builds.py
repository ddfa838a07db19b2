"""Processor seconds of an MCP server and all its builds: `python benchmarks/mcp_builds.py [--builds 150]`.

Needs the extra `mcp`. The server is asked over standard streams, as a host asks it, for contexts of the sample
workspace, each with a topic of its own.
"""

from __future__ import annotations

import argparse
import asyncio
import resource
import sys

from mcp import Client, StdioServerParameters, stdio_client
from run import SAMPLE

TOPICS = ("the demo date", "who breaks the lamp", "Japanese text", "the save that was lost", "seven letters")


def main() -> None:
    """Print what the server took from its start to its end."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--builds", type=int, default=150, help="how many builds (150)")
    asyncio.run(ask_for_contexts(parser.parse_args().builds))
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(usage.ru_utime + usage.ru_stime)


async def ask_for_contexts(builds: int) -> None:
    """Start a server, have it build, and end it."""
    words = ["-m", "contextasm", "mcp", "-w", str(SAMPLE), "-a", "luna", "-t", "q1"]
    async with Client(stdio_client(StdioServerParameters(command=sys.executable, args=words))) as client:
        for number in range(builds):
            result = await client.call_tool("build_context", {"topic": f"{TOPICS[number % len(TOPICS)]} {number}"})
            assert not result.is_error


if __name__ == "__main__":
    main()
