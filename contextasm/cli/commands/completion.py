"""`ctxasm completion`: a script that completes commands, flags and their values in a shell.

The script is made from the command line itself, so nothing in it is listed here a second time. Once made it runs
nothing of ours: names of agents and teams it takes from the workspace's folders.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any, NamedTuple

import typer

from contextasm.cli.output import write_stdout


def run(
    shell: Annotated[str, typer.Argument(metavar="bash|zsh|fish", help="The shell that the script is for.")],
) -> int:
    """Print a completion script for bash, zsh or fish.

    For bash: `eval "$(ctxasm completion bash)"` in ~/.bashrc. For zsh: save it as `_ctxasm` in a folder of $fpath.
    For fish: save it as ~/.config/fish/completions/ctxasm.fish.
    """
    from contextasm.config.values import require_known

    write_stdout(SHELLS[require_known(shell, SHELLS, "completion", "shell")](list(commands())))
    return 0


class Value(NamedTuple):
    """What a flag or an argument takes."""

    words: tuple[str, ...] = ()
    """Those that are known beforehand."""
    place: str = ""
    """What else there is to choose from: `files`, `folders`, `agents`, `teams`; empty for nothing."""


class Flag(NamedTuple):
    """A flag as it is typed."""

    names: tuple[str, ...]
    help: str
    takes: Value | None
    """None for a flag without a value."""


class Command(NamedTuple):
    """A command as it is typed."""

    name: str
    help: str
    flags: tuple[Flag, ...]
    argument: Value
    """What may stand behind the command's name."""


def commands() -> Iterator[Command]:
    """Every command of the command line; the one without a name holds the flags that stand before a command."""
    from contextasm.cli.app import group

    whole = group()
    yield _command("", whole)
    for name in whole.list_commands(None):
        yield _command(name, whole.get_command(None, name))


def _command(name: str, command: Any) -> Command:
    """A command with what can be typed behind it."""
    parameters = command.get_params(typer.Context(command, info_name=name))
    flags = [each for each in parameters if each.param_type_name == "option" and not each.hidden]
    arguments = [_value(each, name) for each in parameters if each.param_type_name == "argument"]
    return Command(name, command.get_short_help_str(100), tuple(map(_flag, flags)), (*arguments, Value())[0])


def _flag(option: Any) -> Flag:
    names = (*option.opts, *option.secondary_opts)
    takes = None if option.is_flag or option.count else _value(option, option.opts[0])
    return Flag(names, (option.help or "").rstrip("."), takes)


def _value(parameter: Any, key: str) -> Value:
    """What a parameter takes: known by its own type, by the flag or command `key`, or by the word in the help."""
    words = getattr(parameter.type, "choices", None) or known_words().get(key, ())
    metavar = (parameter.metavar or "").strip("[]")
    place = {"--agent": "agents", "--team": "teams"}.get(key, "")
    if metavar in {"DIR", "FILE", "FILE:LINE", "NAME|FILE", "RECORD"}:
        place = "folders" if metavar == "DIR" else "files"
    return Value(tuple(words), place)


def known_words() -> Mapping[str, Sequence[str]]:
    """The values that a flag, or the argument of a command, may have."""
    from contextasm.config.profile_loader import shipped
    from contextasm.rendering.formats import FORMATS
    from contextasm.selection.tokens import TOKENIZERS

    return {
        "--format": [*FORMATS],
        "--tokenizer": [*TOKENIZERS],
        "--profile": shipped(),
        "profiles": shipped(),
        "completion": [*SHELLS],
    }


FIND = """\
    local at=${CTXASM_WORKSPACE:-$PWD}
    while [[ -z ${CTXASM_WORKSPACE-} && -n $at && ! -e $at/ctxasm.yaml && ! -e $at/agents ]]; do at=${at%/*}; done
"""
"""For bash and zsh: the workspace as the program finds it; empty for none."""

BASH = """\
# Completion of ctxasm for bash. Made by `ctxasm completion bash`.

# The folders of agents/ or teams/ that begin with a word.
_ctxasm_names() {
@FIND@    local each
    for each in "$at/$1/$2"*/; do
        [[ -d $each ]] && each=${each%/} && COMPREPLY+=("${each##*/}")
    done
}

_ctxasm() {
    local IFS=$'\\n' word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command= each flags=
    COMPREPLY=()
    for each in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        case $each in -*) ;; *) command=$each; break ;; esac
    done
    # `--flag=value` comes as three words.
    if [[ $word == = ]]; then word=; elif [[ $before == = ]]; then before=${COMP_WORDS[COMP_CWORD-2]}; fi
    case $command in
@CASES@    esac
    if [[ $word == -* ]]; then COMPREPLY=($(compgen -W "$flags" -- "$word")); fi
}

complete -F _ctxasm ctxasm
"""

BASH_PLACES = {
    "files": 'compopt -o filenames 2>/dev/null; COMPREPLY+=($(compgen -f -- "$word"))',
    "folders": 'compopt -o filenames 2>/dev/null; COMPREPLY+=($(compgen -d -- "$word"))',
    "agents": '_ctxasm_names agents "$word"',
    "teams": '_ctxasm_names teams "$word"',
}


def bash(every: Sequence[Command]) -> str:
    """The script for bash."""
    names = tuple(each.name for each in every if each.name)
    return _filled(BASH, CASES="".join(_bash_case(each, names) for each in every))


def _bash_case(command: Command, names: tuple[str, ...]) -> str:
    """What is offered behind a command: values behind a flag that takes one, else its argument, else its flags."""
    flags = "\\n".join(name for flag in command.flags for name in flag.names)
    offers: dict[str, list[str]] = {}
    for flag in command.flags:
        if flag.takes:
            offers.setdefault(_bash_offer(flag.takes), []).extend(flag.names)
    cases = [f"    {'|'.join(own)}) {offer}return ;;" for offer, own in offers.items()]
    rest = _bash_offer(command.argument if command.name else Value(names))
    if rest:
        cases.append(f"    *) [[ $word == -* ]] || {{ {rest}}} ;;")
    inner = [f"flags=$'{flags}'", *(["case $before in", *cases, "esac"] if cases else []), ";;"]
    return "".join(f"        {line}\n" for line in (f"{command.name or repr('')})", *(f"    {each}" for each in inner)))


def _bash_offer(value: Value) -> str:
    """Shell commands, each with its semicolon, that add the values which begin with the word."""
    words = "\\n".join(value.words)
    offer = f"COMPREPLY=($(compgen -W $'{words}' -- \"$word\")); " if words else ""
    return offer + (f"{BASH_PLACES[value.place]}; " if value.place else "")


ZSH = """\
#compdef ctxasm
# Completion of ctxasm for zsh. Made by `ctxasm completion zsh`.

# The folders of agents/ or teams/.
_ctxasm_names() {
@FIND@    compadd -- $at/$1/*(N-/:t)
}

_ctxasm() {
    local context state state_descr line
    local -A opt_args
    local -a commands
    _arguments -C @FLAGS@ '1: :->command' '*:: :->rest'
    if [[ $state == command ]]; then
        commands=(
@COMMANDS@        )
        _describe command commands
    elif [[ $state == rest ]]; then
        case $line[1] in
@CASES@        esac
    fi
}

# Loaded from $fpath, this file is the function itself.
if [[ $funcstack[1] == _ctxasm ]]; then _ctxasm "$@"; else compdef _ctxasm ctxasm; fi
"""

# A blank before a function keeps zsh from putting options of its own before the argument.
ZSH_PLACES = {
    "files": "_files",
    "folders": "_files -/",
    "agents": " _ctxasm_names agents",
    "teams": " _ctxasm_names teams",
}


def zsh(every: Sequence[Command]) -> str:
    """The script for zsh."""
    named = [each for each in every if each.name]
    lines = (f"            '{_zsh_text(each.name)}:{_quoted(each.help)}'\n" for each in named)
    cases = (f"            {each.name}) _arguments {_zsh_specs(each)} ;;\n" for each in named)
    flags = " ".join(map(_zsh_flag, every[0].flags))
    return _filled(ZSH, FLAGS=flags, COMMANDS="".join(lines), CASES="".join(cases))


def _zsh_specs(command: Command) -> str:
    """The flags and the argument of a command, as `_arguments` takes them."""
    argument = [f"'1: :{_zsh_action(command.argument)}'"] if command.argument != Value() else []
    return " ".join([*map(_zsh_flag, command.flags), *argument])


def _zsh_flag(flag: Flag) -> str:
    """A flag with all its names."""
    names = [f"{name}{_ZSH_VALUE[len(name) > 2]}" if flag.takes else name for name in flag.names]
    own = f"{{{','.join(names)}}}" if len(names) > 1 else names[0]
    value = f": :{_zsh_action(flag.takes)}" if flag.takes else ""
    return f"'*'{own}'[{_zsh_text(flag.help)}]{value}'"


_ZSH_VALUE = ("+", "=")
"""Behind a short and a long flag: the value may be joined to it, or be the next word."""


def _zsh_action(value: Value) -> str:
    """What `_arguments` does to find the values."""
    words = f"compadd -- {' '.join(value.words)}" if value.words else ""
    place = ZSH_PLACES.get(value.place, "")
    return f"{{{words}; {place}}}" if words and place else f"({' '.join(value.words)})" if words else place or " "


def _zsh_text(text: str) -> str:
    """A text in which nothing ends a part of a specification."""
    return _quoted("".join(f"\\{each}" if each in "[]:\\" else each for each in text))


FISH = """\
# Completion of ctxasm for fish. Made by `ctxasm completion fish`.

# The folders of agents/ or teams/.
function __ctxasm_names
    set -l at $PWD
    if set -q CTXASM_WORKSPACE
        set at $CTXASM_WORKSPACE
    else
        while test -n "$at" -a ! -e "$at/ctxasm.yaml" -a ! -e "$at/agents"
            set at (string replace -r '/[^/]*$' '' -- $at)
        end
    end
    for each in $at/$argv[1]/*/
        string replace -r '.*/([^/]+)/$' '$1' -- $each
    end
end

complete -c ctxasm -f
@LINES@"""

FISH_FIRST = "complete -c ctxasm -n __fish_use_subcommand"


def fish(every: Sequence[Command]) -> str:
    """The script for fish."""
    lines: list[str] = []
    for command in every:
        when = f"__fish_seen_subcommand_from {command.name}" if command.name else "__fish_use_subcommand"
        start = f"complete -c ctxasm -n '{when}'"
        if command.name:
            lines.append(f"{FISH_FIRST} -a {command.name} -d '{_fish_text(command.help)}'")
        if command.argument != Value():
            lines.append(f"{start}{_fish_value(command.argument)}")
        lines += [f"{start} {_fish_flag(flag)}" for flag in command.flags]
    return _filled(FISH, LINES="".join(f"{line}\n" for line in lines))


def _fish_flag(flag: Flag) -> str:
    """A flag, as fish's `complete` takes it."""
    names = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in flag.names)
    needed = " -r" if flag.takes and flag.takes.place == "files" else " -x"
    value = f"{needed}{_fish_value(flag.takes)}" if flag.takes else ""
    return f"{names}{value} -d '{_fish_text(flag.help)}'"


def _fish_value(value: Value) -> str:
    """The values, as fish's `complete` takes them."""
    if value.place in {"agents", "teams"}:
        return f" -a '(__ctxasm_names {value.place})'"
    words = f" -a '{' '.join(value.words)}'" if value.words else ""
    paths = {"files": " -F", "folders": " -a '(__fish_complete_directories)'"}
    return words + paths.get(value.place, "")


def _fish_text(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "\\'")


def _quoted(text: str) -> str:
    """A text for the inside of single quotes, in bash and zsh."""
    return text.replace("'", "'\\''")


def _filled(script: str, **parts: str) -> str:
    """A script with its parts put in."""
    for name, part in {"FIND": FIND, **parts}.items():
        script = script.replace(f"@{name}@", part)
    return script


SHELLS: Mapping[str, Callable[[Sequence[Command]], str]] = {"bash": bash, "zsh": zsh, "fish": fish}
"""Every shell, and what writes its script."""
