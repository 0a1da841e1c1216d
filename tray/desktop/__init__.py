"""The tray, its menu and the notifications on the desktop."""
