"""Whether the person who decides is there now: what this app needs of second factors."""

from urllib.parse import urlencode

from django.urls import reverse

from agentops.accounts.factors import fresh_factor

__all__ = ["fresh_factor", "step_up_url"]


def step_up_url(onward: str) -> str:
    """Return the address at which a person shows a second factor, or adds their first one, and then goes ``onward``."""
    return f"{reverse('step_up')}?{urlencode({'next': onward})}"
