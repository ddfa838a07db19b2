"""The law of reading: one function opens files for reading; every other place is named here, with its reason."""

import ast

from tests.architecture.source import trees

ONE_WAY = "workspace.reads"

EXCEPTIONS = {
    "workspace.atomic": "makes new files, and opens devices and pipes to write into them",
    "workspace.scaffold": "reads starter files of the package",
    "workspace.editing.files": "opens its own lock file",
    "workspace.cache": "reads and appends values of its own, which a build does without",
    "integrations.hook_session": "makes the file of a session in the cache, private to its owner",
    "retrieval.embeddings.http_embedder": "opens a URL, no file",
    "retrieval.embeddings.local_model": "reads a model's folder that the person trusts; steps know no workspace",
    "cli.app": "opens the null device, to write into it",
    "__main__": "opens the null device in place of closed streams",
}

OPENERS = {"open", "read_bytes", "read_text", "fdopen", "readlines"}


def opens(tree: ast.Module) -> bool:
    calls = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call))
    return any((call.id if isinstance(call, ast.Name) else getattr(call, "attr", "")) in OPENERS for call in calls)


def test_one_module_opens_files_for_reading() -> None:
    """P13: what it does not do, such as waiting for a pipe, is done nowhere."""
    assert {module for module, tree in trees().items() if opens(tree)} == {ONE_WAY, *EXCEPTIONS}


def test_json_and_yaml_of_others_have_one_reader_each() -> None:
    """P17: other calls read what the package itself stored, an answer that is checked, or a token's header."""
    own = {
        "retrieval.memory_index.database",
        "retrieval.embeddings.local_model",
        "retrieval.embeddings.http_embedder",
        "retrieval.embeddings.request",
        "text.cleaning.secrets.values",
    }
    users = {
        (module, ast.unparse(node.func))
        for module, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    }
    assert {module for module, call in users if call in {"json.load", "json.loads"}} == {"text.json_reader", *own}
    loads = {"yaml.load", "yaml.safe_load", "yaml.full_load", "yaml.load_all", "yaml.parse", "yaml.compose"}
    # The text that is composed there has passed the strict reader first.
    assert {module for module, call in users if call in loads} == {"workspace.editing.tasks"}


STEPS = ("retrieval", "rules", "ranking", "selection", "rendering", "pipeline")


def test_no_step_sees_the_bytes_of_a_file() -> None:
    """P21 and P27: steps see documents, whose text is clean; one module makes them anew."""
    decoders = {
        (module, ast.unparse(node))
        for module, tree in trees().items()
        if module.split(".")[0] in STEPS and not module.startswith("retrieval.embeddings")
        for node in ast.walk(tree)
        if (isinstance(node, ast.Attribute) and node.attr == "data")
        or (isinstance(node, ast.Name) and node.id in {"decode_document", "AS_WRITTEN"})
    }
    assert decoders == {
        ("retrieval.retrieve", "decode_document"),
        ("retrieval.retrieve", "read.data"),
    }
