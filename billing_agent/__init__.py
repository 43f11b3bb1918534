"""The billing role."""
