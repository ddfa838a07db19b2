"""Room of a text in a file that a host loads, for `build` and `watch` with a profile that names the file (`fits`).

The text goes into a managed block of the file. What the host loads of the rest of it, and of other files that share a
limit with it, takes of that room.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from contextasm.checks.hosts.cuts import MEASURES, LoadedFile
from contextasm.checks.hosts.files import read_host_files
from contextasm.config.build import PreparedBuild
from contextasm.config.hosts.loader import Host, LoadRule, load_host
from contextasm.config.profiles.layers import with_layer_values
from contextasm.model import ContextasmError
from contextasm.selection.tokens import CHARS_ESTIMATE, LENGTHS
from contextasm.text.markdown.managed_block import ManagedBlock, find_block, with_block
from contextasm.workspace.outputs import OutputFile, current_text, file_identity

_OWN_LINES = 2
"""Lines of a text that are not items: its heading, and the marker of what is left out."""


def blocks_of(targets: Sequence[OutputFile]) -> Sequence[OutputFile]:
    """The targets, with a managed block in place of a whole file.

    Raises `ContextasmError` for a file that has no block of ours: nothing of it may be lost.
    """
    for target in targets:
        text = (current_text(target.path) if target.kind == "text" else None) or ""
        if text.strip() and not isinstance(find_block(text), ManagedBlock):
            hint = f"add a block to it with --into {target.path}, or rename it first"
            raise ContextasmError(f"-o {target.path}", "is a file that ctxasm did not write", hint)
    return [target._replace(kind="block") if target.kind == "text" else target for target in targets]


def within_limits(job: PreparedBuild, targets: Sequence[OutputFile]) -> PreparedBuild:
    """The build with the budget, and the number of lines, that the host of its profile leaves for the block.

    Raises `ContextasmError` if nothing is left.
    """
    profile, request = job.build.profile, job.build.request
    host = load_host(profile.host, f"profile {profile.name}: host")
    if not (rule := next((rule for rule in host.loads if profile.fits in rule.files), None)):
        where, what = f"profile {profile.name}: fits", f"{host.summary} does not load {profile.fits}"
        raise ContextasmError(where, what, f"name a file that `ctxasm explain --host {host.name}` lists")
    target = next((target for target in targets if target.managed), None)
    path = target.full if target else f"{job.workspace.root}/{profile.fits}"
    rest = with_block(current_text(target.path) if target else None, "", path, force=True)
    reading = read_host_files(host, os.path.dirname(path))
    others = [file for file in reading.files if file_identity(f"{reading.root}/{file.path}") != file_identity(path)]
    own = request.budget * (1 if request.tokenizer in LENGTHS else CHARS_ESTIMATE.units_per_token)
    room = min([own, *_rooms(host, rule, rest, others)])
    lines = rule.each.lines - rest.count("\n") - _OWN_LINES
    if room <= 0 or (rule.each.lines and lines <= 0):
        hint = f"shorten its other text; `ctxasm check --host {host.name}` shows what is cut"
        raise ContextasmError(path, f"{host.summary} has no room left for the block", hint)
    counter = LENGTHS["bytes" if rule.each.bytes or rule.together.bytes else "chars"]
    request = request._replace(budget=room, tokenizer=counter.name)
    if rule.each.lines:
        profile = profile._replace(layers=tuple(with_layer_values(each, {"top": lines}) for each in profile.layers))
    return job._replace(build=job.build._replace(profile=profile, request=request, counter=counter))


def _rooms(host: Host, rule: LoadRule, rest: str, others: Sequence[LoadedFile]) -> Iterator[int]:
    """The units that each limit leaves for the text, the host's total among them."""
    for unit, measure in MEASURES.items():
        if limit := getattr(rule.each, unit):
            yield limit - measure(rest)
        if limit := getattr(rule.together, unit):
            yield limit - measure(rest) - sum(measure(file.text) for file in others if file.rule == rule)
    if host.total:
        kept = (file.text[start:stop] for file in others for start, stop in file.kept)
        yield host.total - MEASURES["chars"](rest) - sum(map(MEASURES["chars"], kept))
