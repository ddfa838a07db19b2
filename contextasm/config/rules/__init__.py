"""Rule files: loading them, the facts that they ask for and the layers that they name."""
