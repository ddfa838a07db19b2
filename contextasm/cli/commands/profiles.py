"""`ctxasm profiles`: those in the package, or the text of one."""

from __future__ import annotations

from typing import Annotated

import typer

from contextasm.cli.options import json_text, say, table


def run(
    name: Annotated[str | None, typer.Argument(help="Print this profile's file, to start one of your own.")] = None,
    json: Annotated[bool, typer.Option("--json", help="The list as JSON.")] = False,
) -> int:
    """List the profiles, or print the file of one."""
    from pathlib import Path

    from contextasm.config.profile_loader import SHIPPED, load_profile, shipped
    from contextasm.config.values import choice

    if name is not None:
        path = SHIPPED / f"{choice(name, shipped(), 'profiles', 'profile')}.yaml"
        say(path.read_text(encoding="utf-8"))
        return 0
    found = [load_profile(each, "profiles", Path()) for each in shipped()]
    if json:
        say(json_text([{"name": each.name, "budget": each.budget, "summary": each.summary} for each in found]))
    else:
        say(table(("profile", "budget", "what it is for"), [(p.name, f"{p.budget:,}", p.summary) for p in found], (1,)))
    return 0
