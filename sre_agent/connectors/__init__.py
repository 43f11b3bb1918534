"""The estate that the role works on."""
