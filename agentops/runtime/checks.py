"""Check constraints of the hot tables, written so that the server checks them fast.

PostgreSQL reads the stored form of a check anew for every statement, each constant byte by byte. So a table has
one check and not one for each rule, and a list of names is one array constant: Django's ``__in`` makes a list of casts.
In Django's words the two checks of a session take 20 µs of each update, in these 11.
"""

from collections.abc import Iterable
from enum import StrEnum

from django.db.models import BooleanField, Case, Func, Q, Value, When

from agentops.runtime.states import InvocationState, SessionStatus

_HOLDS_KEY = (InvocationState.INTENDED, InvocationState.SUCCEEDED, InvocationState.COMPENSATED)


def _one_of(column: str, values: Iterable[StrEnum]) -> Func:
    names = Value("{" + ",".join(value.value for value in values) + "}")
    return Func(column, names, template="%(expressions)s)", arg_joiner=" = ANY (", output_field=BooleanField())


def session_fits() -> Case:
    """A session's status is a known one, and a stopped session has a code."""
    rest = [status for status in SessionStatus if status is not SessionStatus.STOPPED]
    return Case(
        When(status=SessionStatus.STOPPED.value, then=~Q(stop_code="")),
        default=_one_of("status", rest),
        output_field=BooleanField(),
    )


def invocation_fits() -> Case:
    """A call's state is a known one; it holds its key when it was, is or may be made; an unknown one tells its time."""
    others = [state for state in InvocationState if state not in (*_HOLDS_KEY, InvocationState.UNKNOWN)]
    return Case(
        When(_one_of("state", _HOLDS_KEY), then=Q(idempotency_key__isnull=False, unknown_since__isnull=True)),
        When(state=InvocationState.UNKNOWN.value, then=Q(idempotency_key__isnull=False, unknown_since__isnull=False)),
        default=Q(_one_of("state", others), unknown_since__isnull=True),
        output_field=BooleanField(),
    )
