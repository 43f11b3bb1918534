"""Who answers roles that ask about calls which were made."""

from functools import cache
from typing import cast

from django.conf import settings
from django.utils.module_loading import import_string

from agentops.registry.made import CallRecord


@cache
def call_record() -> CallRecord:
    """Return the record that ``settings.CALL_RECORD`` names."""
    return cast("CallRecord", import_string(settings.CALL_RECORD)())
