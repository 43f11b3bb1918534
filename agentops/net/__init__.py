"""What crosses the network."""
