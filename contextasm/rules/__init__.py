"""Rules: evaluation of their conditions, and the effects they have on layers and fragments."""
