"""The watch: wait for changes of inputs, and build again to keep outputs up to date.

The caller gives the build as a function.
"""
