"""The command line: one thin module a family of commands."""
