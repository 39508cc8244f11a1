"""The benchmark: decisions alone, binds on a real server beside kube-scheduler, and start-up; times never fail a test."""
