"""Tickets from files: readers for CSV, JSON Lines and mailboxes, and the operation that records what they read."""
