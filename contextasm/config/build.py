"""A build that is ready to run, and its counters."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from contextasm.config.facts import gather_facts
from contextasm.config.options import Options, ProcessEnvironment
from contextasm.config.settings import Setting
from contextasm.config.yaml_loader import YamlMapping, load_yaml
from contextasm.model import (
    Context,
    ContextasmError,
    IndexedPools,
    Profile,
    Request,
    SemanticSimilarity,
    Summarizer,
    Workspace,
)
from contextasm.pipeline import assemble
from contextasm.retrieval.retrieve import SOURCE_SHARE, RunSources, in_order
from contextasm.selection.tokens import ENCODINGS, ESTIMATE, Counter, exact_counter
from contextasm.workspace.cache import TokenCountCache, cache_folder
from contextasm.workspace.folder import Folder

if TYPE_CHECKING:
    from contextasm.model import RuleEvaluation
    from contextasm.workspace.git import GitWorkspace


Counters = dict[str, tuple[Counter, TokenCountCache | None]]
"""Counters by the name of their tokenizer, and the counts that each remembers."""


class PreparedBuild(NamedTuple):
    """A build that is ready to run."""

    workspace: Folder | GitWorkspace
    settings: Mapping[str, Setting]
    profile: Profile
    request: Request
    counter: Counter
    counts: TokenCountCache | None
    """The remembered counts of an exact tokenizer."""
    fired: RuleEvaluation | None = None
    """What the workspace's rules come to; None where it has none."""
    summarizer: Summarizer | None = None
    seconds: float | None = None
    """From the start of a build to its deadline."""
    meaning: SemanticSimilarity | None = None
    """The second opinion of searches; None where none is configured, or there is no topic."""
    pools: IndexedPools | None = None
    """Large pools of memories, kept in the workspace."""

    def run(
        self, request: Request | None = None, workspace: Workspace | None = None, *, brief: bool = False
    ) -> Context:
        """The context for the request, or for another one with the same profile and tokenizer.

        `workspace` stands for the job's own one where given. With `brief`, of many memories those not shown are told by
        number, and files whose memories are kept need not be opened.
        """
        context = assemble(
            workspace or self.workspace,
            self.profile,
            request or self.request,
            self.counter,
            meaning=self.meaning,
            fired=self.fired,
            parse=load_yaml,
            summarizer=self.summarizer,
            run_all=_run_all(self.seconds),
            pools=self.pools if brief else None,
        )
        if self.counts:
            self.counts.save()
        return context


def load_counter(name: str, environment: Mapping[str, str]) -> tuple[Counter, TokenCountCache | None]:
    """The counter of a tokenizer, and the counts that it remembers."""
    if name == ESTIMATE.name:
        return ESTIMATE, None
    counts = TokenCountCache(cache_folder(environment), name)
    return exact_counter(name, lambda: load_token_table(name), counts), counts


def _run_all(seconds: float | None) -> RunSources:
    """What runs the sources: one by one without a deadline, else side by side, which takes threads."""
    if seconds is None:
        return in_order
    from contextasm.retrieval.deadline import run_until_deadline

    return run_until_deadline(seconds)


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
    from contextasm.workspace.processes import run_program

    return EmbeddingSimilarity(chosen, workspace.root, environment, cache_folder(environment), run_program)


def make_summarizer(
    file: YamlMapping, workspace: Folder | GitWorkspace, around: ProcessEnvironment, seconds: float | None
) -> Summarizer | None:
    """The summarizer that the file configures; None where there is none, and then no module of it is loaded.

    `seconds` is the time that the whole build may take: the summarizer gets the part that is reserved for assembly.
    """
    if file.get("summarizer") is None:
        return None
    from contextasm.config.providers import TRUST_VARIABLE, is_allowed, parse_summarizer
    from contextasm.selection.summarizer import CommandSummarizer
    from contextasm.workspace.processes import run_program

    command = parse_summarizer(file)
    if seconds is not None:
        command = command._replace(timeout=min(command.timeout, seconds * (1 - SOURCE_SHARE)))
    environment = around.environment
    summaries = CommandSummarizer(command, workspace.root, environment, cache_folder(environment), run_program)
    if not is_allowed(workspace.root, around.environment):
        summaries.forbid(TRUST_VARIABLE)
    return summaries


_TABLES = Path(__file__).parent.parent / "selection" / "token_tables"


def load_token_table(name: str) -> bytes:
    """The packed token table of an encoding, as shipped with this package."""
    path = _TABLES / f"{name}.bin"
    todo = "install ctxasm again, or use --tokenizer estimate"
    try:
        packed = path.read_bytes()
    except OSError as error:
        raise ContextasmError(str(path), f"the token table can't be read ({error.strerror})", todo) from error
    if sha256(packed).hexdigest() != ENCODINGS[name].packed:
        raise ContextasmError(str(path), "the token table is damaged", todo)
    return packed
