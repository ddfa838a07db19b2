"""`ctxasm profiles`: list the profiles of the package, or print one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, TypedDict

from contextasm.cli.command_line import Argument, Command
from contextasm.cli.options import JsonOption
from contextasm.cli.output import write_json, write_stdout, write_table
from contextasm.config.input.values import require_known
from contextasm.config.profiles.loader import SHIPPED, load_profile, shipped
from contextasm.model import ContextasmError
from contextasm.rendering.json_codec import Count
from contextasm.workspace.reading import required_bytes


class ProfileData(TypedDict):
    """One profile."""

    name: str
    """Its name."""
    budget: Count
    """The tokens of a context, unless a build says otherwise."""
    summary: str
    """What it is for."""


class ProfilesDocument(TypedDict):
    """The profiles of the package, as `ctxasm profiles --json` prints them."""

    schema: Literal["ctxasm.profiles/1"]
    profiles: list[ProfileData]
    """Every profile, by name."""


def show_profiles(
    *,
    name: Annotated[str | None, Argument("[NAME]", "Print this profile.", "profile")] = None,
    json: JsonOption = False,
) -> None:
    """List the profiles, or print one as a starting point for your own."""
    if name is not None and json:
        raise ContextasmError("--json", f"can't print the profile {name}, which is YAML", "leave one of them out")
    if name is not None:
        path = f"{SHIPPED}/{require_known(name, shipped(), 'profiles', 'profile')}.yaml"
        write_stdout(required_bytes(path, "install ctxasm again").decode())
        return
    profiles = [load_profile(profile, "profiles", Path()) for profile in shipped()]
    if json:
        write_json(ProfilesDocument, {"profiles": profiles})
    else:
        rows = [(profile.name, f"{profile.budget:,}", profile.summary) for profile in profiles]
        write_table(("profile", "budget", "what it is for"), rows, (1,))


run = Command(show_profiles)
