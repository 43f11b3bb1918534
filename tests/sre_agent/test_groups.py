"""Which alerts belong together: the rule, without a database."""

from datetime import UTC, datetime, timedelta

from sre_agent.groups import Fresh, Graph, Lately, Plan, Standing, Trace, kind_of, plan

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
SHOP = Graph({
    "ledger-db": (), "payments": ("ledger-db",), "cache": (), "catalogue": ("cache",),
    "checkout": ("payments", "catalogue"), "search": ("catalogue",), "mailer": (),
})  # fmt: skip
CALM, NOTHING = Lately(), Graph()


def fresh(
    service: str, minutes: float = 0, *, last: float | None = None, area: str = "", rule: str = "R", many: int = 1
) -> Fresh:
    end = minutes if last is None else last
    keys = tuple(range(many))
    return Fresh(kind_of(service, area, rule), at(minutes), at(end), keys)


def at(minutes: float) -> datetime:
    return NOW + timedelta(minutes=minutes)


def trace(service: str, minutes: float = 0, *, ended: float | None = None, area: str = "", rule: str = "R") -> Trace:
    over = None if ended is None else at(ended)
    return Trace(kind_of(service, area, rule), at(minutes), at(minutes), over is None, over)


def incident(key: int, *traces: Trace, service: str = "", is_open: bool = False, is_storm: bool = False) -> Standing:
    return Standing(key, service, is_open, is_storm, traces)


def said(planned: Plan) -> tuple[dict[int, list[str]], list[list[str]]]:
    """Return what joins and what is opened, by the names of services."""
    joins = {key: sorted(each.kind.service for each in parts) for key, parts in planned.joins.items()}
    return joins, [sorted(each.kind.service for each in opening.fresh) for opening in planned.opens]


def test_services_that_need_each_other_are_one_and_others_are_not() -> None:
    alerts = [fresh("checkout"), fresh("ledger-db", 9), fresh("search", 1), fresh("mailer")]
    assert said(plan(alerts, [], SHOP, CALM)) == ({}, [["checkout", "ledger-db"], ["mailer"], ["search"]])


def test_two_that_need_the_same_are_one_when_that_fails_too() -> None:
    alerts = [fresh("checkout"), fresh("search", 1), fresh("cache", 2)]
    assert said(plan(alerts, [], SHOP, CALM)) == ({}, [["cache", "checkout", "search"]])


def test_more_than_ten_minutes_apart_related_services_are_two() -> None:
    alerts = [fresh("checkout"), fresh("payments", 10.1)]
    assert said(plan(alerts, [], SHOP, CALM)) == ({}, [["checkout"], ["payments"]])
    assert said(plan([fresh("payments", 10)], [incident(1, trace("checkout"))], SHOP, CALM)) == ({1: ["payments"]}, [])
    assert said(plan([fresh("payments", 11)], [incident(1, trace("checkout"))], SHOP, CALM)) == ({}, [["payments"]])


def test_alerts_of_one_service_join_while_one_of_it_fires_or_has_just_ended() -> None:
    fires, over = incident(1, trace("checkout", -300)), incident(1, trace("checkout", -300, ended=-10))
    long_over = incident(1, trace("checkout", -300, ended=-11))
    assert said(plan([fresh("checkout")], [fires], NOTHING, CALM)) == ({1: ["checkout"]}, [])
    assert said(plan([fresh("checkout")], [over], NOTHING, CALM)) == ({1: ["checkout"]}, [])
    assert said(plan([fresh("checkout")], [long_over], NOTHING, CALM)) == ({}, [["checkout"]])


def test_an_incident_that_is_worked_on_takes_whatever_its_service_tells() -> None:
    typed_in = incident(1, service="checkout", is_open=True)
    assert said(plan([fresh("checkout")], [typed_in], NOTHING, CALM)) == ({1: ["checkout"]}, [])
    with_a_person = incident(1, service="checkout")
    assert said(plan([fresh("checkout")], [with_a_person], NOTHING, CALM)) == ({}, [["checkout"]])


def test_the_closest_incident_is_joined_and_of_several_the_latest() -> None:
    of_payments, of_checkout = incident(1, trace("payments")), incident(2, trace("checkout", -5))
    assert said(plan([fresh("checkout")], [of_payments, of_checkout], SHOP, CALM)) == ({2: ["checkout"]}, [])
    of_cache = incident(3, trace("cache", 1))
    assert said(plan([fresh("checkout")], [of_payments, of_cache], SHOP, CALM)) == ({3: ["checkout"]}, [])


def test_what_is_related_to_an_alert_that_joins_goes_with_it() -> None:
    of_payments = incident(1, trace("payments"))
    alerts = [fresh("checkout"), fresh("cache", 1)]
    assert said(plan(alerts, [of_payments], SHOP, CALM)) == ({1: ["cache", "checkout"]}, [])


def test_without_dependencies_a_label_says_what_belongs_together() -> None:
    alerts = [fresh("a", area="billing"), fresh("b", 5, area="billing"), fresh("c", area="shop"), fresh("d")]
    assert said(plan(alerts, [], NOTHING, CALM)) == ({}, [["a", "b"], ["c"], ["d"]])
    known = Graph({"a": (), "b": ()})
    assert said(plan(alerts[:2], [], known, CALM)) == ({}, [["a"], ["b"]])


def test_without_a_service_alerts_of_one_rule_are_one() -> None:
    alerts = [fresh("", rule="NodeDown"), fresh("", 1, rule="Watchdog")]
    assert len(plan(alerts, [], NOTHING, CALM).opens) == 2
    down = incident(1, trace("", rule="NodeDown"))
    planned = plan(alerts, [down], NOTHING, CALM)
    assert ([len(parts) for parts in planned.joins.values()], len(planned.opens)) == ([1], 1)


def test_a_storm_opens_one_for_each_group_of_services_and_one_for_the_rest() -> None:
    alerts = [fresh(name, minutes) for minutes, name in enumerate(("checkout", "search", "mailer"))]
    unknown = [fresh(f"x-{n}", n) for n in range(18)]
    planned = plan(alerts + unknown, [], SHOP, CALM)
    assert said(planned) == (
        {},
        [["checkout", "search"], sorted(f"x-{n}" for n in range(18)), ["mailer"]],
    )
    assert [opening.is_storm for opening in planned.opens] == [False, True, False]


def test_twenty_alerts_are_no_storm_and_one_more_is() -> None:
    two = [fresh("x", many=10), fresh("y", many=10)]
    assert len(plan(two, [], NOTHING, CALM).opens) == 2
    assert len(plan(two, [], NOTHING, Lately(alerts=1)).opens) == 1


def test_a_fifth_incident_in_a_minute_is_a_storm_too() -> None:
    alerts = [fresh("x"), fresh("y")]
    assert len(plan(alerts, [], NOTHING, Lately(opened=2)).opens) == 2
    assert said(plan(alerts, [], NOTHING, Lately(opened=3))) == ({}, [["x", "y"]])


def test_what_comes_later_in_a_storm_joins_it_and_a_calm_alert_of_something_else_does_not() -> None:
    storm = incident(1, trace("x", -1), is_storm=True)
    group = incident(2, trace("search", -1))
    alerts = [fresh("y"), fresh("payments")]
    assert said(plan(alerts, [storm, group], SHOP, Lately(alerts=30))) == ({1: ["y"], 2: ["payments"]}, [])
    assert said(plan(alerts, [storm, group], SHOP, CALM)) == ({}, [["payments"], ["y"]])
    assert said(plan([fresh("x", 30)], [storm], SHOP, CALM)) == ({1: ["x"]}, [])


def test_in_a_storm_what_joins_an_incident_does_not_take_everything_with_it() -> None:
    of_x = incident(1, trace("x"))
    alerts = [fresh("x"), *(fresh(f"y-{n}") for n in range(25))]
    joins, opens = said(plan(alerts, [of_x], NOTHING, CALM))
    assert (joins, [len(each) for each in opens]) == ({1: ["x"]}, [25])


def test_thousands_of_kinds_are_placed_without_comparing_each_with_each() -> None:
    alerts = [fresh(f"s-{n}", area=f"a-{n % 50}") for n in range(5_000)]
    assert len(plan(alerts, [], NOTHING, CALM).opens) == 1
