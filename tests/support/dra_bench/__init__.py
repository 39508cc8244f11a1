"""The benchmark: decisions alone, binds on a real server beside kube-scheduler, and start-up. No time fails a test."""
