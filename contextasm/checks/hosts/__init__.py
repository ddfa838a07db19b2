"""The files that a host loads by itself, and the parts of them that it cuts."""
