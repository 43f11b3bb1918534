"""Requests to people, and their decisions."""
