"""The screens of `sessionbell browse`. What they show and do is decided in `tray.history`."""
