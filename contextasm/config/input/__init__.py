"""Values that a person gives: options, parameters, settings and YAML."""
