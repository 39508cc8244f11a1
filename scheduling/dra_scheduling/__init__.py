"""Decides which devices and which node a pod gets, from values alone."""
