"""The embedded estate: a small simulator of services that fail and react, the same for the same seed. Pure."""
