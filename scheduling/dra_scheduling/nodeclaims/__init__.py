"""NodeClaims from their creation to a node that pods can use, as functions of what the API shows."""
