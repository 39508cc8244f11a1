"""The scheduling cycle: which pending pods are tried, in which order, and what is decided for each."""
