"""ctxasm: assemble the context that an LLM agent starts from, out of a folder of Markdown files.

The rooms of the package, those of a build first and in its order:

- `cli`: the command line in, text and exit codes out.
- `config`: options, environment, settings, profiles and rule files become a `Build`.
- `workspace`: read and write the user's folder, its git revisions and its outputs.
- `retrieval`: find the fragments of each layer.
- `rules`: include, exclude, boost and cap fragments and layers.
- `ranking`: filter, order and deduplicate fragments, and resolve conflicts.
- `selection`: fit fragments into the budget, whole or shortened.
- `rendering`: write the document in its format, and word every decision.
- `records`: record and replay builds, compare them, and trace a line.
- `upkeep`: plan what keeps memories and logs worth reading, apply it, and take it back.
- `checks`: find defects of a workspace, and what a host cuts.
- `integrations`: adapters for programs that run agents.
- `text`: file formats and texts as pure functions.
- `model`: the values that travel between all of these.
- `pipeline`: `assemble`, which calls the steps from `retrieval` to `rendering` in their order.

`docs/architecture.md` says which room may import which.
"""

__version__ = "0.1.0"
