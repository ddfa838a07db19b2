"""Config: YAML files become checked frozen values here, and nobody deeper sees a raw table."""
