"""What is seen of the cluster: watches by Kopf, the cache, and checks that it is complete."""
