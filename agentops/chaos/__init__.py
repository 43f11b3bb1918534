"""The fault drill: real workers killed at named points, and the books compared afterwards. See ``drill``."""
