"""Make-believe sessions: real processes and real files, without Claude Code."""
