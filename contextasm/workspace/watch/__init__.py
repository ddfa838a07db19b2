"""Keep outputs up to date: wait for changes of inputs, and build again."""
