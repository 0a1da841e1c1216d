"""What Linux tells: processes, file events, git work trees."""
