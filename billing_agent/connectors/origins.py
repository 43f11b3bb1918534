"""Whence operations and entries come that no agent's call made, told by how their keys begin. Pure.

The key of an agent's call is a digest in hexadecimal digits, so it begins like none of these.
"""

BY_SCHEDULE = "due:"
BY_PROCESSOR = "dispute:"
BY_SEEDS = "seed:"

_WORDS = {BY_SCHEDULE: "by schedule", BY_PROCESSOR: "told by the processor", BY_SEEDS: "made for the demo"}


def origin_of(key: str) -> str:
    """Return in words who made what has this key, empty for an agent's call and for a key that nobody here makes."""
    return next((words for begins, words in _WORDS.items() if key.startswith(begins)), "")
