"""Watches a cluster with Kopf, runs the scheduling cycle and feeds the binder."""
