"""Who may do what on the operators' pages.

Everybody of a tenant reads. Support staff and admins freeze, ask for a freeze to be lifted, and say what became of a
call; only admins lift and reset. What concerns every tenant is for superusers among them.
"""

from agentops.tenancy.access import Reader
from agentops.tenancy.models import Freeze, Role


def rules_everybody(reader: Reader) -> bool:
    """Return whether what concerns every tenant is the reader's, too."""
    return reader.person.is_superuser and reader.may_operate


def may_reset(reader: Reader, *, everybodys: bool) -> bool:
    """Return whether the reader may reset a breaker of their tenant, or of everybody."""
    return rules_everybody(reader) if everybodys else Role.ADMIN in reader.roles


def may_ask_to_lift(reader: Reader, freeze: Freeze) -> bool:
    """Return whether the reader may ask for the freeze to be lifted; another person then lifts it."""
    return rules_everybody(reader) if freeze.tenant_id is None else reader.may_operate


def may_lift(reader: Reader, freeze: Freeze) -> bool:
    """Return whether the reader's role lets them lift the freeze, once somebody else has asked."""
    return rules_everybody(reader) if freeze.tenant_id is None else Role.ADMIN in reader.roles


def why_not_lift(reader: Reader, freeze: Freeze) -> str:
    """Return why the reader cannot lift the freeze now, empty when they can."""
    if freeze.lifted_at is not None:
        return "It was lifted already."
    if not freeze.lift_asked_by:
        return "Lifting takes two people: one asks, another one lifts. Nobody has asked yet."
    if freeze.lift_asked_by == reader.actor:
        return "You asked to lift it, so another person has to do it."
    if not may_lift(reader, freeze):
        return f"{'A superuser' if freeze.tenant_id is None else 'An admin'} has to lift it."
    return ""
