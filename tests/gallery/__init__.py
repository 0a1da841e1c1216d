"""Pictures of sessionbell on desktops that are too big for every test run."""
