"""The way to a session's terminal: one module a terminal, multiplexer or window system."""
