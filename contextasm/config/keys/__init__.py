"""The sections of `ctxasm.yaml`, a module each."""
