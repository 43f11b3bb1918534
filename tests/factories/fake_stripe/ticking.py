"""What happens by itself as time goes by: renewals, drafts that become final, attempts that come again, phases."""

from collections.abc import Callable

from tests.factories.fake_stripe import collecting, schedules, subscription_ends
from tests.factories.fake_stripe.errors import ApiError
from tests.factories.fake_stripe.world import Obj, World

Due = tuple[int, int, str, Callable[[], None]]


def advance(world: World, until: int) -> None:
    """Move the clock to a moment, doing what becomes due on the way, in order."""
    while True:
        due = min(_due(world, until), default=None, key=lambda each: each[:3])
        if due is None:
            break
        world.clock.fixed = max(due[0], world.now)
        due[3]()
    world.clock.fixed = until


def _due(world: World, until: int) -> list[Due]:
    found: list[Due] = [
        (schedule["phases"][0]["end_date"], 0, schedule["id"], _going_on(world, schedule))
        for schedule in world.all("subscription_schedule", status="active")
    ]
    for each in world.all("subscription"):
        if each["status"] not in ("canceled", "incomplete", "incomplete_expired"):
            end = each["items"]["data"][0]["current_period_end"]
            found.append((end, 1, each["id"], _renewing(world, each)))
            pause = each["pause_collection"]
            if pause and pause["resumes_at"]:
                found.append((pause["resumes_at"], 0, each["id"], _resuming(world, each)))
    for invoice in world.all("invoice"):
        if invoice["status"] == "draft" and invoice["automatically_finalizes_at"]:
            found.append((invoice["automatically_finalizes_at"], 2, invoice["id"], _finalizing(world, invoice)))
        if invoice["status"] == "open" and invoice["next_payment_attempt"]:
            found.append((invoice["next_payment_attempt"], 3, invoice["id"], _collecting(world, invoice)))
    return [each for each in found if each[0] <= until]


def _going_on(world: World, schedule: Obj) -> Callable[[], None]:
    return lambda: schedules.go_on(world, schedule)


def _renewing(world: World, subscription: Obj) -> Callable[[], None]:
    return lambda: subscription_ends.renew(world, subscription)


def _resuming(world: World, subscription: Obj) -> Callable[[], None]:
    def resume() -> None:
        before, subscription["pause_collection"] = subscription["pause_collection"], None
        world.effect("customer.subscription.updated", subscription, {"pause_collection": before})

    return resume


def _finalizing(world: World, invoice: Obj) -> Callable[[], None]:
    return lambda: collecting.finalize(world, invoice)


def _collecting(world: World, invoice: Obj) -> Callable[[], None]:
    def collect() -> None:
        invoice["next_payment_attempt"] = None
        try:
            method = collecting.method_of(world, invoice)
        except ApiError:
            return  # Nobody can be charged; the invoice stays open.
        collecting.collect(world, invoice, method, automatic=True)

    return collect
