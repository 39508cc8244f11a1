"""Objects for tests, one family of builders: `values` makes those of the library, `manifests` what a server is sent."""
