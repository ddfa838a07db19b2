"""The table of commands, each of which is imported when it is used."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import import_module
from typing import Any, cast

from contextasm.cli.parameters import Command

GROUPS: Mapping[str, Mapping[str, str]] = {
    "Build and explain": {
        "build": "Write the assembled context to standard output or to a file.",
        "explain": "Show each fragment with its decision, tokens and reason.",
        "watch": "Build, and build again whenever an input changes.",
        "plan": "Show the tokens of each layer under several budgets.",
        "stats": "Show sizes, growth, contributors, duplicates and what each layer needs.",
    },
    "Memories": {
        "search": "Find memories for a topic, with the parts of their scores.",
        "remember": "Add a memory, or reinforce the memory that says the same.",
        "feedback": "Say what was useful, wrong or missing in a recorded build.",
        "show": "Print a memory with its place and fields.",
        "edit": "Open a memory in your editor.",
        "memory": "List, approve, deprecate or complete memories.",
        "store": "Share memories in a database: init, status, pull, import, export, migrate.",
        "log": "Append an entry to the log of the day.",
        "tidy": "Show what would keep memories and logs worth reading; do it, or take it back.",
        "task": "Push, pop, block, park, resume or show tasks.",
        "import": "Add the memories that another program has stored.",
        "export": "Write memories for other programs, as JSON lines or as OKF.",
    },
    "Trust": {
        "check": "Check the workspace: settings, dates, budgets, hidden text, secrets, outputs.",
        "lock": "Approve the files that instruct an agent, in ctxasm.lock.",
        "diff": "Compare the contexts of two records, days, budgets or git revisions.",
        "replay": "Build a record again: the same bytes, or the inputs that changed.",
        "records": "List the records of builds.",
    },
    "With your agent": {
        "hook": "Answer an event of Claude Code, Codex or Gemini CLI with a context.",
        "mcp": "Serve contexts and memories over MCP.",
    },
    "Setting up": {
        "init": "Create a workspace, an agent or a team; overwrite nothing.",
        "config": "Show the settings in force.",
        "profiles": "List the profiles, or print one.",
        "rules": "List the rules, or show which of them fire for a request.",
        "tokenizers": "List the tokenizers.",
        "completion": "Print a completion script for bash, zsh or fish.",
    },
}
"""Every command under its heading in `--help`, the most used first, with its line there.

Each command is a module of `contextasm.cli.commands`, under its own name, except for the names in `MODULES`.
"""

MODULES: Mapping[str, str] = {"import": "import_memories", "export": "export_memories"}
"""Modules with another name than their command: `import` is a word of Python's own, which no statement can import."""

COMMANDS: Mapping[str, str] = {name: line for group in GROUPS.values() for name, line in group.items()}
"""Every command with its line in `--help`."""

VARIABLES = {f"CTXASM_{name}" for name in ("WORKSPACE", "LOCKED", "NO_CACHE", "TRUST", "DEBUG")}
"""Variables of the environment that are read, without those of settings."""


def load_command(name: str) -> Command:
    """The command of a name, which is in `COMMANDS`."""
    module = import_module(f"contextasm.cli.commands.{MODULES.get(name, name)}")
    return cast("Command", module.run)


def run_command(command: Command, typed: Mapping[str, Any]) -> int:
    """Run a command with the values that were typed; returns the exit code."""
    if not typed.get("quiet"):
        _warn_of_variables()
    return command.run(typed)


def _warn_of_variables() -> None:
    """Warn of variables that have the prefix of this program and that it does not know."""
    names = [name for name in os.environ if name.startswith("CTXASM_") and name not in VARIABLES]
    if not names:
        return
    from contextasm.cli.output import write_stderr
    from contextasm.config.input.settings import SETTINGS
    from contextasm.text.names.matching import nearest

    known = {*VARIABLES, *(f"CTXASM_{key.upper()}" for key in SETTINGS)}
    for name in (name for name in names if name not in known):
        hint = f"did you mean {near}?" if (near := nearest(name, known, 0.8)) else "unset it"
        write_stderr(f"ctxasm: warning: {name}: unknown variable: {hint}")
