"""Conventional places of the files of a workspace, as patterns and as paths of layers (man/ctxasm.yaml.5)."""

from collections.abc import Mapping
from typing import Literal

from contextasm.text.names.templates import fill_template

OwnerKind = Literal["agent", "team"]

AGENT_FILES = ("agents/{agent}/IDENTITY.md", "agents/{agent}/INSTRUCTIONS.md")
"""Files that every agent has."""

OWNER_FILES: Mapping[OwnerKind, str] = {"agent": "agents/*/IDENTITY.md", "team": "teams/*/*.md"}
"""Pattern of the files that make a folder an owner's."""

MEMORY_FOLDERS = ("agents/*/memories", "teams/*/memories", "memories")
"""Folders of memories: of every agent, every team and the project."""

MEMORY_FILES = tuple(f"{folder}/*.md" for folder in MEMORY_FOLDERS)
"""Files of memories of every agent, every team and the project."""

LOG_FOLDERS = ("agents/*/daily", "teams/*/daily")
"""Folders of dated logs; the archive of one is its folder `archive`."""

FEEDBACK_FILES = "feedback/*.jsonl"
"""Files with feedback on builds: one for each month, older ones first."""

RULE_FILES = "rules/*.yaml"
"""Files with rules."""

PROFILE_FILES = "profiles/*.yaml"
"""Files with profiles."""

WORKSPACE_PATTERNS = (
    "ctxasm.yaml",
    "AGENTS.md",
    "CLAUDE.md",
    "PROJECT.md",
    "agents/**/*.md",
    "teams/**/*.md",
    "patterns.yaml",
    "tasks.yaml",
    "graph/*.yaml",
    "knowledge/**/*.md",
    "memories/*.md",
    PROFILE_FILES,
    RULE_FILES,
    "sessions/*.jsonl",
    "threads/*.md",
    "tools/*.json",
)
"""Files of a workspace, without those that only a profile names."""


def any_owner_pattern(template: str) -> str:
    """The path of a layer as a pattern: for every agent and every team."""
    return fill_template(template, {"agent": "*", "team": "*"})
