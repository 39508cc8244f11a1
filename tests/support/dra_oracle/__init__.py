"""Kubernetes' own allocator beside ours, on random worlds: the same answer, or a difference with a known reason."""
