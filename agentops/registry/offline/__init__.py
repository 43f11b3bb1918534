"""What offline playbooks of all roles share: reading, look-ups, what becomes of a wish, and the words at the end.

A role adds what its own customers wish for, its records, and how it answers.
"""
