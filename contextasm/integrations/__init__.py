"""Adapters for programs that run agents: thin layers over the library, which load nothing into `build`."""
