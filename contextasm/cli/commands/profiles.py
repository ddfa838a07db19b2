"""`ctxasm profiles`: list the profiles of the package, or print one."""

from __future__ import annotations

from typing import Annotated

import typer

from contextasm.cli.options import JsonOption, completer
from contextasm.cli.output import format_json, format_table, write_stdout


def run(
    name: Annotated[
        str | None,
        typer.Argument(help="Print the file of this profile.", autocompletion=completer("profile")),
    ] = None,
    json: JsonOption = False,
) -> int:
    """List the profiles, or print the file of one, to start a profile from."""
    from pathlib import Path

    from contextasm.config.input.values import require_known
    from contextasm.config.profiles.loader import SHIPPED, load_profile, shipped
    from contextasm.model import ContextasmError

    if name is not None and json:
        raise ContextasmError("--json", f"does not go with the file of {name}, which is YAML", "leave one of them out")
    if name is not None:
        path = SHIPPED / f"{require_known(name, shipped(), 'profiles', 'profile')}.yaml"
        write_stdout(path.read_text(encoding="utf-8"))
        return 0
    profiles = [load_profile(profile, "profiles", Path()) for profile in shipped()]
    if json:
        fields = ("name", "budget", "summary")
        data = [{field: getattr(profile, field) for field in fields} for profile in profiles]
        write_stdout(format_json({"schema": "ctxasm.profiles/1", "profiles": data}))
    else:
        rows = [(profile.name, f"{profile.budget:,}", profile.summary) for profile in profiles]
        write_stdout(format_table(("profile", "budget", "what it is for"), rows, (1,)))
    return 0
