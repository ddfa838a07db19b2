"""Commands: one module each, with a function `run`. What they share: the flags that make up a request, and output.

Modules here import at their top only what every use of the command needs.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from contextasm.cli.output import read_stdin

if TYPE_CHECKING:
    from contextasm.config.build import PreparedBuild
    from contextasm.config.options import Options


def request_options(
    *,
    agent: Annotated[str | None, typer.Option("--agent", "-a", metavar="NAME", help="The agent.")] = None,
    team: Annotated[str | None, typer.Option("--team", "-t", metavar="NAME", help="The team; '' for none.")] = None,
    topic: Annotated[
        str | None, typer.Option(metavar="TEXT", help="What the conversation is about; - reads standard input.")
    ] = None,
    profile: Annotated[
        str | None, typer.Option("--profile", "-p", metavar="NAME|FILE", help="The profile (ctxasm profiles).")
    ] = None,
    budget: Annotated[
        str | None, typer.Option("--budget", "-b", metavar="N", help="Tokens of the whole document, such as 8k.")
    ] = None,
    tokenizer: Annotated[
        str | None, typer.Option(metavar="NAME", help="How tokens are counted (ctxasm tokenizers).")
    ] = None,
    date: Annotated[
        str | None, typer.Option(metavar="YYYY-MM-DD", help="The day that counts as today; `today` for the clock's.")
    ] = None,
    tz: Annotated[str | None, typer.Option(metavar="ZONE", help="The time zone that today is taken in.")] = None,
    layer: Annotated[
        list[str] | None, typer.Option(metavar="ID=N", help="Another limit for a layer, in tokens; repeatable.")
    ] = None,
    strategy: Annotated[
        str | None, typer.Option(metavar="NAME", help="A named variant of the profile, such as coding.")
    ] = None,
    scope: Annotated[
        str | None, typer.Option(metavar="ID,...", help="Only these layers, and those that are required.")
    ] = None,
    session: Annotated[
        str | None, typer.Option(metavar="ID", help="The session that goes on; else the latest one.")
    ] = None,
    open_: Annotated[
        list[str] | None,
        typer.Option("--open", "--active-file", metavar="FILE", help="A file that is open; repeatable."),
    ] = None,
    since: Annotated[str | None, typer.Option(metavar="YYYY-MM-DD", help="Leave out what is dated before.")] = None,
    event_type: Annotated[
        list[str] | None, typer.Option(metavar="TYPE", help="Of events only this type; repeatable.")
    ] = None,
    entity_type: Annotated[
        list[str] | None, typer.Option(metavar="TYPE", help="Of entities only this type; repeatable.")
    ] = None,
    exclude: Annotated[
        list[str] | None, typer.Option(metavar="ID|GLOB", help="Leave out this id, or these files; repeatable.")
    ] = None,
    prefer: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="What wins where others say otherwise; repeatable.")
    ] = None,
    deadline: Annotated[
        str | None, typer.Option(metavar="MS", help="Milliseconds; what is not found by then is left out.")
    ] = None,
    additional: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Text to add, where the profile has a place for it.")
    ] = None,
    var: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="A value that rules may ask for; repeatable.")
    ] = None,
    workspace: Annotated[
        str | None, typer.Option("--workspace", "-w", metavar="DIR", help="The workspace; else searched upwards.")
    ] = None,
) -> Options:
    """The flags of a request: their names, forms and help stand here and nowhere else."""
    from contextasm.config.options import Options

    return Options(
        workspace=workspace,
        agent=agent,
        team=team,
        topic=read_stdin("--topic -", "topic").strip() if topic == "-" else topic,
        profile=profile,
        budget=budget,
        tokenizer=tokenizer,
        date=date,
        tz=tz,
        layers=tuple(layer or ()),
        strategy=strategy,
        scope=scope,
        session=session,
        open=tuple(open_ or ()),
        since=since,
        event_types=tuple(event_type or ()),
        entity_types=tuple(entity_type or ()),
        exclude=tuple(exclude or ()),
        prefer=tuple(prefer or ()),
        deadline=deadline,
        additional=additional,
        variables=tuple(var or ()),
    )


def takes_request(run: Callable[..., int], without: Sequence[str] = ()) -> Callable[..., int]:
    """A command whose first parameter is made of the flags above; its other parameters are flags of its own.

    `without` are those that mean nothing to it.
    """
    shared = {each.name: each for each in _parameters(request_options) if each.name not in without}
    own = _parameters(run)[1:]
    positional = [each for each in own if each.kind is not each.KEYWORD_ONLY]

    def command(**given: Any) -> int:
        request = request_options(**{name: given.pop(name) for name in shared})
        return run(request, **given)

    command.__name__, command.__doc__ = run.__name__, run.__doc__
    rest = [each for each in own if each not in positional]
    ordered = [each.replace(kind=each.KEYWORD_ONLY) for each in (*positional, *shared.values(), *rest)]
    command.__signature__ = inspect.Signature(ordered, return_annotation=int)  # type: ignore[attr-defined]
    return command


def _parameters(function: Callable[..., object]) -> list[inspect.Parameter]:
    """A function's parameters with their types; `Options` stays a name, for it would import what `--help` can spare."""
    types = get_type_hints(function, localns={"Options": Any}, include_extras=True)
    return [each.replace(annotation=types[each.name]) for each in inspect.signature(function).parameters.values()]


def prepare_request(request: Options, form: str | None = None) -> PreparedBuild:
    """The build that the flags ask for, in this process's surroundings. Raises `ContextasmError`."""
    from contextasm.config.resolve import prepare_build, process_environment

    return prepare_build(request._replace(format=form), process_environment())
