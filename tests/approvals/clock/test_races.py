"""Sweeps and people at the same moment."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier

import pytest
from django.db import connection

from agentops.kernel.errors import AgentOpsError
from approvals.clock.due import do_due
from approvals.clock.ladder import escalate
from approvals.models import Absence, Act, ActKind, ApprovalRequest, Rung
from tests.factories.cases import NOW, open_request
from tests.factories.people import Cast

pytestmark = pytest.mark.django_db(transaction=True)

HOUR = timedelta(hours=1)


def at_once(calls: Sequence[Callable[[], object]]) -> None:
    start = Barrier(len(calls))

    def run(call: Callable[[], object]) -> None:
        start.wait(30)
        try:
            call()
        except AgentOpsError:
            pass  # somebody was faster
        finally:
            connection.close()

    with ThreadPoolExecutor(len(calls)) as pool:
        list(pool.map(run, calls))


@pytest.fixture
def waiting(cast: Cast) -> list[ApprovalRequest]:
    for place, percent in ((1, 50), (2, 80)):
        Rung.objects.create(queue=cast.queue, place=place, kind="person", person=cast.bob, after_percent=percent)
    return [open_request(cast.tenant.pk) for _ in range(6)]


def count(request: ApprovalRequest, kind: ActKind) -> int:
    return Act.objects.filter(request=request, kind=kind).count()


def test_sweeps_side_by_side_remind_and_escalate_once(waiting: list[ApprovalRequest]) -> None:
    at_once([lambda: do_due(NOW + 3.3 * HOUR, 50)] * 4)
    do_due(NOW + 3.3 * HOUR, 50)  # what one sweep held while another looked is done by the next
    for request in waiting:
        assert (count(request, ActKind.REMINDED), count(request, ActKind.ESCALATED)) == (1, 2)


def test_people_and_a_sweep_take_each_step_once(waiting: list[ApprovalRequest], cast: Cast) -> None:
    request = waiting[0]
    people = [lambda: escalate(request_id=request.pk, person=cast.alice, words="", now=NOW + 2 * HOUR)] * 3
    at_once([*people, lambda: do_due(NOW + 2 * HOUR, 50)])
    steps = Act.objects.filter(request=request, kind=ActKind.ESCALATED).order_by("id").values_list("facts__rung")
    assert [rung for (rung,) in steps] == [1, 2]


def test_sweeps_side_by_side_give_work_back_once(waiting: list[ApprovalRequest], cast: Cast) -> None:
    ApprovalRequest.objects.update(assigned_to=cast.alice)
    Absence.objects.create(tenant=cast.tenant, person=cast.alice, begins=NOW, ends=NOW + HOUR)
    at_once([lambda: do_due(NOW + HOUR / 2, 50)] * 4)
    do_due(NOW + HOUR / 2, 50)
    assert [count(request, ActKind.RELEASED) for request in waiting] == [1] * len(waiting)
