"""Names of the hosts that this package knows, by their files; none of these is read."""

from __future__ import annotations

from pathlib import Path

SHIPPED_HOSTS = Path(__file__).parent / "hosts"


def shipped_hosts() -> list[str]:
    """The names of all hosts, in the order of the alphabet."""
    return sorted(path.stem for path in SHIPPED_HOSTS.glob("*.yaml"))
