"""Extended resources that DRA serves (KEP-5004): names, classes, the choice per node and the special claim."""
