"""Reading text: what is wished for of the desk, and about which things."""

import pytest

from agentops.registry.offline.looking import Unclear
from agentops.registry.offline.text import make_readable
from support_agent.playbook.catalogue import Variant, mentions, target_of
from support_agent.playbook.details import addresses_in, cancel_reason_in, problem_in
from support_agent.playbook.wishes import order_ids_in, read_wishes


def wishes(text: str) -> list[tuple[str, tuple[str, ...]]]:
    return [(wish.kind.value, wish.order_ids) for wish in read_wishes(make_readable(text).text)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Please cancel order #L2003.", [("cancel", ("L2003",))]),
        ("Cancel my orders #L1001, #L1002 and #L1003 please", [("cancel", ("L1001", "L1002", "L1003"))]),
        ("I want to return the mug from order L2001.", [("return", ("L2001",))]),
        ("Could you send the blanket back for me?", [("return", ())]),
        ("Please exchange the shirt in #L2007 for size L.", [("swap", ("L2007",))]),
        ("For order #L2, 12 of them: nothing. For #L200, change the shipping address.", [("address", ("L200",))]),
        ("Please change the payment method of order #L2012 to PayPal.", [("payment", ("L2012",))]),
        ("Please ship it to 5 Elm Street, Bath, ME 04530 instead. It is order #L2012.", [("address", ("L2012",))]),
        ("The mug from #L2001 is broken, please refund $18.", [("refund", ("L2001",))]),
        ("I was charged twice for order #L2010.", [("refund", ("L2010",))]),
        ("My parcel #L2005 never arrived, I want my money back.", [("refund", ("L2005",))]),
        ("A goodwill credit of $10 would be fair.", [("credit", ())]),
        ("Where is my order #L2005?", [("status", ("L2005",))]),
        ("When will the chair arrive?", [("status", ())]),
        ("Do you have the lamp in black? What does it cost?", [("product", ())]),
        ("How do I return something?", [("knowledge", ())]),
        ("When do I get my refund?", [("knowledge", ())]),
        ("What is your return policy?", [("knowledge", ())]),
        ("Return the mug from #L2001 and refund it to my card.", [("return", ("L2001",))]),
        (
            "Cancel #L2020, ordered by mistake. I also want to return the jacket from #L2021.",
            [("cancel", ("L2020",)), ("return", ("L2021",))],
        ),
        ("Please don't cancel my order #L2003!", []),
        ("I never want to return this lovely lamp.", []),
        ("You cancelled my order and I am sad.", []),
        ("I have changed my mind about you.", []),
        ("Great service, thank you all.", []),
    ],
)
def test_wishes_of_a_text(text: str, found: list[tuple[str, tuple[str, ...]]]) -> None:
    assert wishes(text) == found


def test_a_wish_without_an_order_takes_the_one_named_before() -> None:
    assert wishes("My order #L2007 came. Please exchange the shirt. Where is #L2008?") == [
        ("swap", ("L2007",)),
        ("status", ("L2008",)),
    ]


def test_an_address_that_is_the_same_as_another_order_names_one_order() -> None:
    assert order_ids_in("For #W600, change address (same as #W186)") == ("W600",)


def test_addresses_written_on_a_line_or_as_fields() -> None:
    (line,) = addresses_in("to 88 Maple Street, Apt 2, New Bedford, MA 02740, thanks")
    assert line.as_arguments() == {
        "address1": "88 Maple Street",
        "address2": "Apt 2",
        "city": "New Bedford",
        "state": "MA",
        "country": "USA",
        "zip": "02740",
    }
    (fields,) = addresses_in("{'address1': '1 A St', 'address2': '', 'city': 'Troy', 'state': 'NY', 'zip': '12180'}")
    assert str(fields) == "1 A St, Troy, NY 12180"
    assert addresses_in("my new place in Chicago") == ()


def test_problems_and_reasons() -> None:
    assert problem_in("it arrived with a crack") == "arrived damaged"
    assert problem_in("the knife was not in the box") == "is missing"
    assert problem_in("it is lovely") == ""
    assert cancel_reason_in("I ordered it by mistake") == "ordered by mistake"
    assert cancel_reason_in("I found another") == "no longer needed"


def test_mentions_take_the_longest_name_and_tell_ambiguity() -> None:
    found = mentions("the desk lamps and a jacket", ["Desk Lamp", "Floor Lamp", "Rain Jacket", "Fleece Jacket"])
    assert [mention.names for mention in found] == [("Desk Lamp",), ("Rain Jacket", "Fleece Jacket")]


SHIRTS = [
    Variant("1", {"color": "white", "size": "M"}, 4000, available=True),
    Variant("2", {"color": "white", "size": "L"}, 4000, available=True),
    Variant("3", {"color": "navy", "size": "M"}, 3000, available=True),
    Variant("4", {"color": "navy", "size": "L"}, 5000, available=False),
]


@pytest.mark.parametrize(
    ("text", "item"),
    [
        ("exchange the shirt for size L", "2"),
        ("change it to navy", "3"),
        ("from white to navy please", "3"),
        ("I want item 3 instead", "3"),
        ("the cheapest one", "3"),
        ("send the exact same item again", "1"),
        ("{'color': 'white'} to {'color': 'navy'}", "3"),
    ],
)
def test_the_variant_that_fits_the_words(text: str, item: str) -> None:
    assert target_of(text, SHIRTS[0].options, SHIRTS, "1").item_id == item


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("navy in size L", "the wanted variant is not available now"),
        ("a nicer one", "the text does not say which variant is wanted"),
        ("something bigger than size L", "the text compares instead of naming a variant"),
        ("the most expensive white one", "several variants have that price"),
    ],
)
def test_words_that_name_no_variant_are_unclear(text: str, why: str) -> None:
    with pytest.raises(Unclear) as caught:
        target_of(text, SHIRTS[0].options, SHIRTS, "1")
    assert str(caught.value) == why
