"""What a build may lean on: rules, a second opinion, a summarizer. Loaded where there are any."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from contextasm.config.facts import gather_facts
from contextasm.config.options import Options, ProcessEnvironment
from contextasm.config.settings import Setting
from contextasm.config.yaml_loader import YamlMapping
from contextasm.model import ContextasmError, Request, SemanticSimilarity, Summarizer
from contextasm.retrieval.retrieve import SOURCE_SHARE
from contextasm.workspace.cache import cache_folder
from contextasm.workspace.folder import Folder

if TYPE_CHECKING:
    from contextasm.rules.evaluate import RuleEvaluation
    from contextasm.workspace.git import GitWorkspace


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
    from contextasm.config.providers_summarizer import parse_summarizer
    from contextasm.config.providers_trust import TRUST_VARIABLE, is_allowed
    from contextasm.selection.summarizer import CommandSummarizer

    command = parse_summarizer(file)
    assert command
    if seconds is not None:
        command = command._replace(timeout=min(command.timeout, seconds * (1 - SOURCE_SHARE)))
    summaries = CommandSummarizer(command, workspace.root, around.environment, cache_folder(around.environment))
    if not is_allowed(workspace.root, around.environment):
        summaries.forbid(TRUST_VARIABLE)
    return summaries
