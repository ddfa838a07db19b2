"""Record builds, replay and compare them, and trace one line of a file."""
