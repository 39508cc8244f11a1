"""What the API server holds and what a cycle has assumed since: nodes, claims, commitments, and what changed."""
