"""The answers of the MCP server's tools, and the workspace that it serves."""

from __future__ import annotations

from typing import NamedTuple

from pydantic import BaseModel

from contextasm.api import RequestOptions


class ServedWorkspace(NamedTuple):
    """The names that the command line of a server fixes; clients can't change it."""

    workspace: str
    """Absolute path of the folder."""
    agent: str | None = None
    """None lets clients name any agent of the workspace."""
    team: str | None = None
    profile: str | None = None
    audience: str = "shared"
    writes: bool = False
    """Whether tools that write are offered."""

    def request(self, agent: str = "", team: str = "", topic: str = "", budget: str | int = "") -> RequestOptions:
        """The options of a request; the names of the server win, and an empty text is as good as none."""
        return {
            "agent": self.agent or agent or None,
            "team": self.team if self.team is not None else team or None,
            "topic": topic or None,
            "budget": budget or None,
            "profile": self.profile,
            "audience": self.audience,
            "workspace": self.workspace,
        }

    @property
    def pinned(self) -> set[str]:
        """Parameters that clients do not have, since the server has them."""
        return {name for name in ("agent", "team") if getattr(self, name) is not None}

    @property
    def pinned_owners(self) -> set[str]:
        """Parameters that clients do not have where they write: a server that names an owner writes for that one."""
        has_owner = bool(self.agent or self.team)
        return {"agent", "team"} if has_owner else self.pinned

    def owner(self, agent: str, team: str) -> tuple[str | None, str | None]:
        """Agent and team to write for, as `api` takes them; the agent where the server names both."""
        if self.agent:
            return self.agent, None
        if self.team:
            return None, self.team
        return agent or None, team or None


class Explanation(BaseModel):
    """Decisions on the fragments of a context."""

    receipt: str
    decisions: list[dict[str, object]]
    left_out: int
    """Number of further decisions, which this answer does not hold."""
    problems: list[str]


class Hit(BaseModel):
    """A memory that matches."""

    id: str
    path: str
    line: int
    type: str
    text: str
    score: float
    parts: dict[str, float]


class Hits(BaseModel):
    """Memories that match, best first."""

    hits: list[Hit]
    searched: int
    problems: list[str]


class Remembered(BaseModel):
    """The memory that was stored, or the one that says the same."""

    outcome: str
    """`stored` or `reinforced`."""
    id: str
    path: str
    line: int
    problems: list[str]


class Logged(BaseModel):
    """The log that holds the entry, and the problems of its text."""

    path: str
    problems: list[str]
