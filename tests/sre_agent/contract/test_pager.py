"""What every pager promises: the embedded one and PagerDuty."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from agentops.kernel.errors import FailureKind
from agentops.registry.preview_parts import TextChange
from agentops.registry.tool import ToolFailure
from sre_agent.connectors.pager import EmbeddedPager
from sre_agent.connectors.pagerduty import PagerDutyPager
from sre_agent.connectors.port import PagePerson, Pager, PagerWrite, WithdrawPage
from sre_agent.models import Incident, Note, Page
from tests.factories.fake_pagerduty.account import KEY, Account
from tests.factories.loopback import running
from tests.factories.sre import make_shift
from tests.sre_agent.vendors.cast import PAGERDUTY, Cast, cast, document

pytestmark = pytest.mark.django_db
NOW_SHIFT = {"starts_at": "2026-11-03T09:00:00Z", "ends_at": "2026-11-03T17:00:00Z"}
CALL = PagePerson(1, "Three of four payments fail.")


class World:
    """A pager with Dana on call at level 1 and Erik at level 2, and how often somebody was called."""

    def __init__(self, pager: Pager, shop: Cast, duty: Account | None) -> None:
        self.pager, self.shop, self.duty = pager, shop, duty

    @property
    def calls(self) -> int:
        return Page.objects.count() if self.duty is None else len(self.duty.called)

    def refused(self, key: str, write: PagerWrite) -> FailureKind:
        with pytest.raises(ToolFailure) as found:
            self.pager.write(self.shop.call(key), write)
        return found.value.kind


@contextmanager
def at_pagerduty(folder: Path, settings: Any) -> Iterator[World]:
    shop = cast("pagerduty_api", KEY)
    settings.SRE_VENDORS_FILE = document(folder, shop.tenant, pagerduty=PAGERDUTY)
    duty = Account()
    duty.add("U1", "dana", 1)
    duty.add("U2", "erik", 2)
    with running(duty):
        settings.PAGERDUTY_URL = duty.url
        yield World(PagerDutyPager(), shop, duty)


@pytest.fixture(params=["embedded", "pagerduty"])
def world(request: pytest.FixtureRequest, tmp_path: Path, settings: Any) -> Iterator[World]:
    if request.param == "pagerduty":
        with at_pagerduty(tmp_path, settings) as made:
            yield made
        return
    shop = cast()
    make_shift(shop.tenant, "dana", 1, contact="dana@shop.example", **NOW_SHIFT)
    make_shift(shop.tenant, "erik", 2, contact="erik@shop.example", **NOW_SHIFT)
    yield World(EmbeddedPager(), shop, None)


def test_people_are_told_by_level(world: World) -> None:
    told = [(each.person, each.contact, each.level) for each in world.pager.on_call(world.shop.call())]
    assert told == [("dana", "dana@shop.example", 1), ("erik", "erik@shop.example", 2)]


def test_a_dry_run_says_the_same_and_does_nothing(world: World) -> None:
    preview = world.pager.preview(world.shop.call(), CALL)
    assert preview.effect == "Call dana (level 1) about incident INC-7"
    assert preview.target == "incident:INC-7"
    assert preview.measures == {"incident_priority": 1}
    assert preview.parts == (TextChange("Words", "", CALL.words),)
    assert world.calls == 0


def test_a_call_is_made_once_for_its_key_and_is_a_row(world: World) -> None:
    preview = world.pager.preview(world.shop.call(), CALL)
    made = [world.pager.write(world.shop.call("k", expected_versions=preview.versions), CALL) for _ in range(2)]

    page = Page.objects.get()
    assert made == [{"page_id": page.ref, "person": "dana"}] * 2
    assert (page.person, page.contact, page.words) == ("dana", "dana@shop.example", CALL.words)
    assert world.pager.outcome(world.shop.call("k")) == made[0]
    assert world.refused("k", PagePerson(2, "Else.")) is FailureKind.CONFLICT
    assert world.calls == 1
    assert Note.objects.count() == 1


def test_a_key_that_was_never_used_had_no_outcome(world: World) -> None:
    assert world.pager.outcome(world.shop.call("never")) is None


def test_a_record_that_has_changed_since_stops_the_call(world: World) -> None:
    preview = world.pager.preview(world.shop.call(), CALL)
    Incident.objects.update(version=9)
    with pytest.raises(ToolFailure) as found:
        world.pager.write(world.shop.call("k", expected_versions=preview.versions), CALL)
    assert (found.value.kind, world.calls) == (FailureKind.CONFLICT, 0)


def test_nobody_is_called_again_at_once_and_the_next_level_is(world: World) -> None:
    world.pager.write(world.shop.call("k1"), CALL)
    assert world.refused("k2", CALL) is FailureKind.CONFLICT
    assert world.pager.write(world.shop.call("k3"), PagePerson(2, "No answer."))["person"] == "erik"
    assert world.calls == 2


@pytest.mark.parametrize(
    "write", [PagePerson(0, "x"), PagePerson(4, "x"), PagePerson(1, " "), PagePerson(1, "x" * 501)]
)
def test_what_cannot_be_right_calls_nobody(world: World, write: PagePerson) -> None:
    assert world.refused("k", write) is FailureKind.VALIDATION
    assert world.calls == 0


def test_a_page_is_withdrawn_once(world: World) -> None:
    ref = str(world.pager.write(world.shop.call("k1"), CALL)["page_id"])
    made = [world.pager.write(world.shop.call("k2"), WithdrawPage(ref)) for _ in range(2)]
    assert made == [{"page_id": ref}] * 2
    assert Page.objects.filter(withdrawn_at__isnull=False).count() == 1
    assert world.refused("k3", WithdrawPage(ref)) is FailureKind.CONFLICT
    assert world.refused("k4", WithdrawPage("PG-NONE")) is FailureKind.NOT_FOUND
    assert world.calls == 1
