"""What a process does: each role writes its own kinds, and knows nothing of the others."""
