"""What the database itself refuses."""

import pgtrigger

APPEND_ONLY = pgtrigger.Protect(name="append_only", operation=pgtrigger.Update)
"""What was written down stays as it was."""
