"""`ctxasm profiles`: those in the package, or the text of one."""

from __future__ import annotations

from typing import Annotated

import typer

from contextasm.cli.output import format_json, format_table, write_stdout


def run(
    name: Annotated[str | None, typer.Argument(help="Print this profile's file, to start one of your own.")] = None,
    json: Annotated[bool, typer.Option("--json", help="The list as JSON.")] = False,
) -> int:
    """List the profiles, or print the file of one."""
    from pathlib import Path

    from contextasm.config.profile_loader import SHIPPED, load_profile, shipped
    from contextasm.config.values import require_known

    if name is not None:
        path = SHIPPED / f"{require_known(name, shipped(), 'profiles', 'profile')}.yaml"
        write_stdout(path.read_text(encoding="utf-8"))
        return 0
    found = [load_profile(each, "profiles", Path()) for each in shipped()]
    if json:
        write_stdout(
            format_json([{"name": each.name, "budget": each.budget, "summary": each.summary} for each in found])
        )
    else:
        write_stdout(
            format_table(
                ("profile", "budget", "what it is for"), [(p.name, f"{p.budget:,}", p.summary) for p in found], (1,)
            )
        )
    return 0
