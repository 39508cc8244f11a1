"""Pods that ask for the same thing, and what every node says to them."""
