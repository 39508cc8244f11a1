"""What the operator's tests share: an API server in memory, a clock to be turned by hand, and objects."""
