"""The role `binder`: carries out BindRequests with `dra_binder`."""
