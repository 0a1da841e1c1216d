"""Past sessions: found, indexed, read and searched."""
