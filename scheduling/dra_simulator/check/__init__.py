"""What is wrong or suspicious in DRA objects, found without a cluster."""
