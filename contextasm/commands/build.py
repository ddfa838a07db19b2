"""`ctxasm build`: the assembled context, to standard output or into a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from contextasm.commands import ready, say, strict_failure, takes_request, tell, warn

if TYPE_CHECKING:
    from contextasm.model import Context
    from contextasm.prepare import Flags, Job


def build(
    request: Flags,
    *,
    form: Annotated[
        str | None, typer.Option("--format", "-f", metavar="NAME", help="markdown, xml, json or messages.")
    ] = None,
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="FILE", help="Write here instead; - is standard output.")
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="The table of decisions too, on standard error.")] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; exit 1 with a diff if the -o file is stale.")
    ] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Any problem: write nothing and exit 1.")] = False,
    if_none_match: Annotated[
        str | None, typer.Option(metavar="ETAG", help="Write nothing and exit 3 if the etag is this one.")
    ] = None,
    manifest: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write inputs, hashes, sections and tokens here.")
    ] = None,
    touch: Annotated[
        bool, typer.Option("--touch", help="Note in each memory shown that it was, as accessed=DATE.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Nothing but errors on standard error.")] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Settings, sections and time taken, on standard error.")
    ] = False,
) -> int:
    """Write the assembled context to standard output, or to a file.

    Everything else, such as the receipt and warnings, goes to standard error.
    """
    from contextasm.render import FORMATS

    target = _target(output, check, touch=touch)
    started = _clock()
    job = ready(request, form)
    context = job.run(brief=not (manifest or explain))
    if strict and context.problems:
        return strict_failure(context)
    if not quiet:
        warn(context.problems)
        _talk(job, context, explain=explain, verbose=verbose)
    if if_none_match is not None and if_none_match.removeprefix("W/").strip('"') == context.etag:
        return 3
    text = FORMATS[context.request.format](context)
    code = _checked(target, text) if check and target else _written(target, text, quiet=quiet)
    if manifest and not check:
        from contextasm.commands import json_text
        from contextasm.render import manifest_data
        from contextasm.writing import as_bytes, write

        write(Path(manifest), as_bytes(json_text(manifest_data(context))))
    if touch:
        from contextasm.keeping.touch import touch as note

        note(job.workspace, context)
    if verbose and not quiet:
        tell(f"{(_clock() - started) * 1000:.0f} ms")
    return code


run = takes_request(build)


def _target(output: str | None, check: bool, *, touch: bool) -> Path | None:
    """The file to write; None for standard output."""
    from contextasm.model import ContextasmError

    target = Path(output) if output and output != "-" else None
    if check and not target:
        raise ContextasmError("--check", "there is no file to check", "name it with -o FILE")
    if check and touch:
        raise ContextasmError("--touch", "--check writes nothing", "leave one of the two out")
    return target


def _talk(job: Job, context: Context, *, explain: bool, verbose: bool) -> None:
    """What a person wants to know about a build."""
    from contextasm.render.words import columns, decision_table, receipt, section_rows

    if explain:
        header, rows, right = decision_table(context.decisions, every=verbose)
        tell(columns(header, rows, right).rstrip("\n"))
    if verbose:
        settings = {
            key: f"{setting.value or '-'} ({setting.origin})" for key, setting in job.settings.items() if "." not in key
        }
        tell(columns(("setting", "value"), [("workspace", job.workspace.root), *settings.items()], ()).rstrip("\n"))
        tell(columns(("layer", "section", "tokens", ""), section_rows(context.sections), (2,)).rstrip("\n"))
    tell(receipt(context))


def _written(target: Path | None, text: str, *, quiet: bool) -> int:
    """Emit the text."""
    if target is None:
        say(text)
        return 0
    from contextasm.writing import as_bytes, write

    new = write(target, as_bytes(text))
    if not quiet:
        tell(f"{target}: {'written' if new else 'unchanged'}")
    return 0


def _checked(target: Path, text: str) -> int:
    """Whether a file holds the text: 0, or 1 with the difference on standard error."""
    from difflib import unified_diff

    from contextasm.model import ContextasmError

    try:
        old = target.read_bytes() if target.exists() else b""
    except OSError as error:
        raise ContextasmError(str(target), f"can't be read: {error.strerror}", "make it readable") from error
    if old == text.encode() and target.exists():
        return 0
    lines = old.decode("utf-8", "replace").splitlines(keepends=True)
    for line in unified_diff(lines, text.splitlines(keepends=True), f"{target} (there)", f"{target} (to be)"):
        tell(line.rstrip("\n") if line.endswith("\n") else f"{line}\n\\ No newline at end of file")
    tell(f"ctxasm: error: {target}: stale: run the same command without --check")
    return 1


def _clock() -> float:
    """Seconds, to take a difference of."""
    from time import perf_counter

    return perf_counter()
