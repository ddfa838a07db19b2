"""The watch: wait for changes of inputs, and build again to keep outputs up to date.

The build is handed over as a function; no step is known here.
"""
