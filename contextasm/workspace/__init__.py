"""Read and write the user's folder: files, git revisions, locks, outputs, watch."""
