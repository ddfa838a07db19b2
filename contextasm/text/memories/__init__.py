"""The form of memories: the fields of a bullet, reading and writing them."""
