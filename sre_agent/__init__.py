"""The site reliability role."""
