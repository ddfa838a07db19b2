"""Write the JSON Schema of each document, and the list of documents in `man/ctxasm.1`, from the types of the documents.

A document is a `TypedDict` whose field `schema` is the literal of its name and version; several with one name are its
forms. Descriptions are the texts under classes and fields. `--check` writes nothing and exits 1 if a file is stale.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from functools import cache
from pathlib import Path
from textwrap import dedent
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

from man_options import PAGE, roff

from contextasm.rendering.json_codec import INLINE

PACKAGE = Path(__file__).resolve().parent.parent / "contextasm"
FOLDER = PACKAGE / "rendering" / "schemas"
BEGIN, END = '.\\" documents begin\n', '.\\" documents end\n'
PLAIN: Mapping[Any, Mapping[str, object]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    NoneType: {"type": "null"},
    date: {"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}$"},
}


def main(words: list[str]) -> int:
    """The exit code."""
    if words not in ([], ["--check"]):
        print("usage: python tools/json_schemas.py [--check]", file=sys.stderr)
        return 2
    files = generated_files()
    unknown = [path for path in FOLDER.glob("*.json") if path not in files]
    stale = [path for path, text in files.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    if words:
        for path in (*stale, *unknown):
            print(f"{path.name}: stale: run `python tools/json_schemas.py`", file=sys.stderr)
        return int(bool(stale or unknown))
    for path in stale:
        path.write_text(files[path], encoding="utf-8")
    for path in unknown:
        path.unlink()
    return 0


def generated_files() -> dict[Path, str]:
    """Each file with the text that it should have."""
    documents = dict(sorted(find_documents().items()))
    page = PAGE.read_text(encoding="utf-8")
    head, begin, rest = page.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"{PAGE.name}: a line `documents begin` or `documents end` is missing")
    entries = "".join(f".TP\n.B {name}\n{_in_roff(_about(forms))}\n" for name, forms in documents.items())
    files = {PAGE: head + BEGIN + entries + END + tail}
    for name, forms in documents.items():
        stem = name.removeprefix("ctxasm.").replace("/", "-")
        files[FOLDER / f"{stem}.json"] = json.dumps(document_schema(name, forms), indent=2) + "\n"
    return files


def find_documents() -> dict[str, list[Any]]:
    """The forms of each document by its name, as the package declares them."""
    documents: dict[str, list[Any]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        if 'schema: Literal["' not in path.read_text(encoding="utf-8"):
            continue
        module = importlib.import_module(".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts))
        for kind in vars(module).values():
            if is_typeddict(kind) and kind.__module__ == module.__name__ and "schema" in kind.__annotations__:
                (name,) = get_args(get_type_hints(kind)["schema"])
                documents.setdefault(name, []).append(kind)
    return documents


def document_schema(name: str, forms: Sequence[Any]) -> dict[str, object]:
    """The JSON Schema of a document."""
    parts: dict[str, dict[str, object]] = {}
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": name, "title": name}
    if len(forms) == 1:
        schema = _object(forms[0], parts)
    else:
        variants = [_of_type(form, parts) for form in forms]
        constant = {"schema": {"description": _SCHEMA_FIELD, "const": name}}
        schema = {"description": _about(forms), "type": "object", "properties": constant, "oneOf": variants}
    return {**head, **schema} | ({"$defs": dict(sorted(parts.items()))} if parts else {})


_SCHEMA_FIELD = "The name and version of this form."


def _about(forms: Sequence[Any]) -> str:
    return " ".join(_texts(form)[""] for form in forms)


def _object(kind: Any, parts: dict[str, dict[str, object]]) -> dict[str, object]:
    """The schema of a named tuple or a `TypedDict`; those of its fields that are objects go into `parts`."""
    properties = dict(_properties(kind, parts))
    schema = {"description": _texts(kind)[""], "type": "object", "additionalProperties": False}
    required = [*properties] if getattr(kind, "__total__", True) else []
    return {**schema, "required": required, "properties": properties}


def _properties(kind: Any, parts: dict[str, dict[str, object]]) -> Iterator[tuple[str, dict[str, object]]]:
    for name, hint in get_type_hints(kind, include_extras=True).items():
        if INLINE in getattr(hint, "__metadata__", ()):
            yield from _properties(get_args(hint)[0], parts)
            continue
        text = _texts(kind).get(name) or (_SCHEMA_FIELD if name == "schema" else "")
        yield name.removesuffix("_"), {**({"description": text} if text else {}), **_of_type(hint, parts)}


def _of_type(kind: Any, parts: dict[str, dict[str, object]]) -> dict[str, object]:
    origin, args = get_origin(kind), get_args(kind)
    if kind in PLAIN:
        return {**PLAIN[kind]}
    if origin is Annotated:
        rules: dict[str, object] = dict(rule for rule in kind.__metadata__ if type(rule) is tuple)
        return _of_type(args[0], parts) | rules
    if origin is Literal:
        return {"const": args[0]} if len(args) == 1 else {"enum": [*args]}
    if origin in {Union, UnionType}:
        return _of_any([_of_type(each, parts) for each in args])
    if is_typeddict(kind) or hasattr(kind, "_fields"):
        if kind.__name__ not in parts:
            parts[kind.__name__] = {}  # a type may hold itself
            parts[kind.__name__] = _object(kind, parts)
        return {"$ref": f"#/$defs/{kind.__name__}"}
    return _of_collection(origin, args, parts)


def _of_any(schemas: Sequence[dict[str, object]]) -> dict[str, object]:
    if all(isinstance(schema.get("type"), str) for schema in schemas):
        types = list(dict.fromkeys(schema["type"] for schema in schemas))
        merged = {key: value for schema in schemas for key, value in schema.items()}
        return {**merged, "type": types}
    return {"anyOf": [*schemas]}


def _of_collection(origin: Any, args: tuple[Any, ...], parts: dict[str, dict[str, object]]) -> dict[str, object]:
    is_pairs = origin is tuple and args[-1] is Ellipsis and get_args(args[0])[:1] == (str,) and get_origin(args[0])
    if is_pairs:
        return {"type": "object", "additionalProperties": _of_type(get_args(args[0])[1], parts)}
    if origin in {dict, Mapping}:
        return {"type": "object", "additionalProperties": _of_type(args[1], parts)}
    if origin is tuple and args[-1] is not Ellipsis:
        items = [_of_type(each, parts) for each in args]
        return {"type": "array", "minItems": len(items), "maxItems": len(items), "prefixItems": items}
    return {"type": "array", "items": _of_type(args[0], parts)}


@cache
def _texts(kind: Any) -> dict[str, str]:
    """The text of a class, under the empty name, and those under its fields, each in one line."""
    (tree,) = ast.parse(dedent(inspect.getsource(kind))).body
    assert isinstance(tree, ast.ClassDef)
    texts = {"": " ".join((ast.get_docstring(tree) or "").split())}
    for field, text in zip(tree.body, tree.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant):
            texts[ast.unparse(field.target)] = re.sub(r"\bNone\b", "null", " ".join(str(text.value.value).split()))
    return texts


def _in_roff(text: str) -> str:
    """A text with its code in bold."""
    parts = re.split(r"`([^`]*)`", text)
    return "".join(f"\\fB{roff(part)}\\fR" if number % 2 else roff(part) for number, part in enumerate(parts))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
