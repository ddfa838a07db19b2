"""A build that is ready to run, and its counters."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from contextasm.config.facts import gather_facts
from contextasm.config.options import Options, ProcessEnvironment
from contextasm.config.settings import Setting
from contextasm.config.yaml_loader import YamlMapping
from contextasm.model import (
    Build,
    Context,
    ContextasmError,
    Request,
    SemanticSimilarity,
    Summarizer,
    TokenCounter,
)
from contextasm.pipeline import assemble
from contextasm.retrieval.retrieve import SOURCE_SHARE
from contextasm.selection.tokens import ENCODINGS, ESTIMATE, exact_counter
from contextasm.workspace.cache import TokenCountCache, cache_folder
from contextasm.workspace.folder import Folder

if TYPE_CHECKING:
    from contextasm.model import RuleEvaluation
    from contextasm.workspace.git import GitWorkspace


Counters = dict[str, tuple[TokenCounter, TokenCountCache | None]]
"""Counters by the name of their tokenizer, and the counts that each remembers."""


class PreparedBuild(NamedTuple):
    """A build that is ready to run, with the settings it came from."""

    build: Build
    workspace: Folder | GitWorkspace
    """The build's workspace."""
    settings: Mapping[str, Setting]
    counts: TokenCountCache | None
    """Cache of an exact tokenizer's counts; None for an estimate."""
    seconds: float | None = None
    """Seconds from the start of a build to its deadline; None for no deadline."""

    @property
    def in_full(self) -> Build:
        """The build with a decision for each memory, also where an index could count those that are not shown."""
        return self.build._replace(memory_index=None)

    def run(self, build: Build | None = None) -> Context:
        """The context of a build with the same tokenizer; for None, of this one in full."""
        build = build or self.in_full
        if self.seconds is not None:
            from contextasm.retrieval.deadline import run_until_deadline  # here: threads, for those who set a deadline

            build = build._replace(run_sources=run_until_deadline(self.seconds))
        context = assemble(build)
        if self.counts:
            self.counts.save()
        return context


def load_counter(name: str, environment: Mapping[str, str]) -> tuple[TokenCounter, TokenCountCache | None]:
    """The counter of a tokenizer, and the counts that it remembers."""
    if name == ESTIMATE.name:
        return ESTIMATE, None
    counts = TokenCountCache(cache_folder(environment), name)
    return exact_counter(name, lambda: load_token_table(name), counts), counts


def evaluate_rules(
    workspace: Folder | GitWorkspace, file: YamlMapping, flags: Options, request: Request, around: ProcessEnvironment
) -> RuleEvaluation | None:
    """What the workspace's rules come to for a request; their modules are loaded where there are any."""
    variables = _variables(flags.variables)
    if "rules" not in file and not workspace.list("rules/*.yaml"):
        return None
    from contextasm.config.rules import load_rules
    from contextasm.rules.evaluate import evaluate

    rules = load_rules(workspace, file)
    return evaluate(rules, gather_facts(rules, request, variables, around.environment, Path(workspace.root)))


def _variables(given: tuple[str, ...]) -> dict[str, str]:
    """What `--var NAME=VALUE` gives to rules."""
    found: dict[str, str] = {}
    for each in given:
        name, equals, value = each.partition("=")
        if not equals or not name.isidentifier():
            raise ContextasmError("--var", f"{each} gives no variable a value", "write NAME=VALUE, such as phase=beta")
        found[name] = value
    return found


def semantic_similarity(
    file: YamlMapping,
    settings: dict[str, Setting],
    topic: str,
    workspace: Folder | GitWorkspace,
    environment: Mapping[str, str],
) -> SemanticSimilarity | None:
    """The second opinion that the file configures, or a problem in its place; the settings get what it is."""
    if file.get("embedder") is None:
        return None
    from contextasm.config.providers import describe_embedder, parse_embedder, trust_refusal

    chosen = parse_embedder(file)
    refused = trust_refusal(chosen, workspace.root, environment)
    settings["embedder"] = Setting(describe_embedder(chosen, refused), file.where("embedder"))
    if refused or not topic.strip():
        return (lambda _topic, _texts: refused) if refused else None
    from contextasm.retrieval.embeddings.embedder import EmbeddingSimilarity

    return EmbeddingSimilarity(chosen, workspace.root, environment, cache_folder(environment))


def make_summarizer(
    file: YamlMapping, workspace: Folder | GitWorkspace, around: ProcessEnvironment, seconds: float | None
) -> Summarizer | None:
    """What the file names to say texts in fewer words; its modules are loaded for those who have one.

    Under a deadline of so many seconds it has the part of it that is kept for assembly.
    """
    if file.get("summarizer") is None:
        return None
    from contextasm.config.providers import TRUST_VARIABLE, is_allowed
    from contextasm.config.providers_summarizer import parse_summarizer
    from contextasm.selection.summarizer import CommandSummarizer

    command = parse_summarizer(file)
    assert command
    if seconds is not None:
        command = command._replace(timeout=min(command.timeout, seconds * (1 - SOURCE_SHARE)))
    summaries = CommandSummarizer(command, workspace.root, around.environment, cache_folder(around.environment))
    if not is_allowed(workspace.root, around.environment):
        summaries.forbid(TRUST_VARIABLE)
    return summaries


_TABLES = Path(__file__).parent.parent / "selection" / "token_tables"


def load_token_table(name: str) -> bytes:
    """The packed token table of an encoding, as shipped with this package."""
    path = _TABLES / f"{name}.bin"
    hint = "install ctxasm again, or use --tokenizer estimate"
    try:
        packed = path.read_bytes()
    except OSError as error:
        raise ContextasmError(str(path), f"the token table can't be read ({error.strerror})", hint) from error
    if sha256(packed).hexdigest() != ENCODINGS[name].packed:
        raise ContextasmError(str(path), "the token table is damaged", hint)
    return packed
