"""Everything that knows how Claude Code stores and runs its sessions."""
