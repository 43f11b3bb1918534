"""Work from files: readers for CSV, JSON Lines and mailboxes, and what the commands of roles share."""
