"""Whether and how well a node takes a pod, rule by rule, kept for all pods of one class."""
