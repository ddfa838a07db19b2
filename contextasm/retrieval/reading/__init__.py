"""What the sources read: files of a layer, the audience that may see them, logs by day, instructions and feedback."""
