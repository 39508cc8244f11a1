"""What every client of the Kubernetes API needs to know of it, without any I/O: errors, paths, requests, retries."""
