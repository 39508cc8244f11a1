"""The role `scheduler`: the thread of the scheduling loop, and the writers of what it decides."""
