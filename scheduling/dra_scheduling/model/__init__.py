"""Frozen values in the shape of the Kubernetes API, holding only the fields that a decision or a write needs.

Every struct maps one to one to its JSON form (camelCase, defaults omitted), so reading and writing need no second
description. A value that breaks a rule of the API ("exactly one of ...") cannot be built: `__post_init__` raises
`ValueError`, which `dra_scheduling.wire` turns into an error with object and path.
"""
