"""What a host loads and cuts of its own files."""
