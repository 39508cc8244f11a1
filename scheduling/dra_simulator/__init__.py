"""The command line: plays the scheduler on files, and explains a live cluster."""
