"""The role that makes nodes up for NodeClaims of the group `dra-scheduler.dev`: provider, kubelets and DRA drivers."""
