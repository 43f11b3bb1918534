"""The operators' pages: what is frozen, what is under way, what nobody knows, what is off, what is spent."""
