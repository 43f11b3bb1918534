"""Who may decide: exclusions, delegations, the right to decide, and what something irreversible takes besides."""
