"""What a person does with memories outside of a build: search, add, export and approve them."""
