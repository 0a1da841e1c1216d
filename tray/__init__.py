"""sessionbell: a Linux system-tray notifier for Claude Code."""

__version__ = "0.1.0"
