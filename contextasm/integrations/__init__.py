"""Where agents live: thin adapters over the functions of `api`, none of which a build loads."""
