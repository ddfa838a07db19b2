"""The settings of a shared store, as values. They are checked in `config/keys/store.py`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import quote

STORE_KEYS = ("host", "port", "dbname", "user", "sslmode")
"""Parts of an address that settings may give; whatever else libpq knows is the person's environment's to say."""


class StoreConfig(NamedTuple):
    """Database, homes and freshness of a shared store."""

    line: int
    """Line of `ctxasm.yaml`, counted from 1."""
    parts: Mapping[str, str]
    """Parts of the address by their `STORE_KEYS`; libpq's own defaults and variables give what is missing."""
    homes: tuple[str, ...]
    """Folders of the owners whose memories lie in the store, such as `teams/q1`."""
    max_age: float = 5.0
    """Seconds for which a mirror counts as up to date without a question to the server."""

    @property
    def address(self) -> str:
        """The address as a URL, for messages and comparisons."""
        user = f"{quote(self.parts['user'], safe='')}@" if "user" in self.parts else ""
        port = f":{self.parts['port']}" if "port" in self.parts else ""
        mode = f"?sslmode={self.parts['sslmode']}" if "sslmode" in self.parts else ""
        host = self.parts.get("host", "")
        shown_host = f"[{host}]" if ":" in host else host
        return f"postgresql://{user}{shown_host}{port}/{quote(self.parts.get('dbname', ''), safe='')}{mode}"
