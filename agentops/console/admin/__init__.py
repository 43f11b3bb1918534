"""The admin's screens of the control plane's tables."""
