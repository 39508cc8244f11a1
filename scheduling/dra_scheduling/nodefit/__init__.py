"""Whether a node takes a pod, devices apart: each rule is a function from values to a refusal or None."""
