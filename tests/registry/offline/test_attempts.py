"""What became of a change, also when a person made another call of it."""

from collections.abc import Mapping
from typing import Any

from agentops.registry.offline.attempts import attempts
from agentops.registry.offline.outcomes import Change
from agentops.registry.planner import Observation, ObservationStatus

_S = ObservationStatus
REFUND = Change("issue_refund", {"order_id": "#W1", "amount_minor": 5_000}, "the refund", "{amount} is on its way.")
CANCEL = Change("cancel_pending_order", {"order_id": "#W2"}, "the cancellation", "It is cancelled.")


def order_of(arguments: Mapping[str, Any]) -> str:
    return str(arguments.get("order_id", ""))


def seen(step: int, tool: str, arguments: dict[str, Any], status: ObservationStatus, **result: Any) -> Observation:
    return Observation(step, tool, arguments, status, result)


def test_changed_call_is_told_by_what_became_of_it() -> None:
    history = [
        seen(1, "issue_refund", {"order_id": "#W1", "amount_minor": 5_000}, _S.REJECTED, code="EDITED"),
        seen(2, "issue_refund", {"order_id": "#W9", "amount_minor": 3_000}, _S.OK),
    ]
    (tried,) = attempts([REFUND], history, order_of)
    assert (tried.status, tried.seen) == (_S.OK, history[1])


def test_call_that_was_changed_twice_is_told_by_the_last() -> None:
    history = [
        seen(1, "issue_refund", {"order_id": "#W1"}, _S.REJECTED, code="EDITED"),
        seen(2, "issue_refund", {"order_id": "#W1"}, _S.REJECTED, code="EDITED"),
        seen(3, "issue_refund", {"order_id": "#W1"}, _S.REJECTED, code="REJECTED", reason="policy"),
        seen(4, "cancel_pending_order", {"order_id": "#W2"}, _S.OK),
    ]
    refund, cancel = attempts([REFUND, CANCEL], history, order_of)
    assert (refund.rejected_for, cancel.status) == ("policy", _S.OK)
