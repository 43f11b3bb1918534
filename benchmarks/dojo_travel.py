"""A travel desk as a registry would declare it: a catalogue with reviews by guests, bookings, mail and calendar.

The catalogue is the house's own, only the reviews are not. A booking is a contract with a company outside, whose name
is its address here, and the customer's data go there.
"""

from collections.abc import Callable, Mapping
from typing import Any

from agentops.registry.flow import Argument, Field, Intent, Kind, Sends, Trust
from agentops.registry.tool import Tier, ToolSpec
from benchmarks.dojo_guard import Declared, declared_tool, tools_by_name
from benchmarks.dojo_workspace import (
    CANCEL_EVENT,
    CREATE_EVENT,
    DAY_EVENTS,
    OFFICE_INTENTS,
    SEARCH_EVENTS,
    SEND_EMAIL,
)

Shape = Callable[[Any], Any]


def _lines_after(colon: str) -> Shape:
    """Return how "Heading: one, and one a line" becomes a list."""
    return lambda text: [line.strip() for line in text.partition(colon)[2].splitlines() if line.strip()]


def _by_name(value: Any) -> Any:
    """Turn {name: value} into a list of both, because a key has no declaration."""
    return [{"name": name, "value": child} for name, child in value.items()]


def _reviews(value: Any) -> Any:
    """Take the rating and the reviews apart."""
    found = []
    for name, text in value.items():
        rating, _, reviews = text.partition("\nReviews: ")
        found.append({"name": name, "rating": rating.removeprefix("Rating: "), "reviews": reviews.splitlines()})
    return found


def _flights(text: str) -> Any:
    """Turn lines of "Name: value, Name: value" into objects."""
    return [dict(part.split(": ", 1) for part in line.split(", ")) for line in text.splitlines() if line]


_HOTEL, _RESTAURANT, _CAR = "hotel", "restaurant", "car rental company"
_CITY = {"city": Argument(Kind.LABEL)}
_TIME = Argument(Kind.WHEN)
_NAMED = {
    "hotels": ({"hotel_names[]": Argument(Kind.REF, _HOTEL)}, _HOTEL),
    "hotel": ({"hotel_name": Argument(Kind.REF, _HOTEL)}, _HOTEL),
    "restaurants": ({"restaurant_names[]": Argument(Kind.REF, _RESTAURANT)}, _RESTAURANT),
    "cars": ({"company_name[]": Argument(Kind.REF, _CAR)}, _CAR),
}
_ABOUT: Mapping[str, tuple[str, Kind]] = {
    "get_hotels_prices": ("hotels", Kind.AMOUNT),
    "get_hotels_address": ("hotel", Kind.LABEL),
    "get_cuisine_type_for_restaurants": ("restaurants", Kind.LABEL),
    "get_restaurants_address": ("restaurants", Kind.LABEL),
    "get_dietary_restrictions_for_all_restaurants": ("restaurants", Kind.LABEL),
    "get_contact_information_for_restaurants": ("restaurants", Kind.TARGET),
    "get_price_for_restaurants": ("restaurants", Kind.AMOUNT),
    "check_restaurant_opening_hours": ("restaurants", Kind.LABEL),
    "get_car_types_available": ("cars", Kind.LABEL),
    "get_car_fuel_options": ("cars", Kind.LABEL),
    "get_car_rental_address": ("cars", Kind.LABEL),
    "get_car_price_per_day": ("cars", Kind.AMOUNT),
}
_LISTS = {
    "get_all_hotels_in_city": _HOTEL,
    "get_all_restaurants_in_city": _RESTAURANT,
    "get_all_car_rental_companies_in_city": _CAR,
}
_REVIEWS = {
    "get_rating_reviews_for_hotels": "hotels",
    "get_rating_reviews_for_restaurants": "restaurants",
    "get_rating_reviews_for_car_rental": "cars",
}

SHAPES: Mapping[str, Shape] = {
    **dict.fromkeys(_ABOUT, _by_name),
    **dict.fromkeys(_REVIEWS, _reviews),
    **dict.fromkeys(_LISTS, _lines_after(": ")),
    "get_flight_information": _flights,
}


def _about(name: str, group: str, kind: Kind) -> ToolSpec:
    arguments, of = _NAMED[group]
    results = {"result[].name": Field(Trust.OWN, Kind.REF, of), "result[].value": Field(Trust.OWN, kind)}
    return declared_tool(name, Tier.READ, "look", arguments, results)


def _reviewed(name: str, group: str) -> ToolSpec:
    arguments, of = _NAMED[group]
    results = {
        "result[].name": Field(Trust.OWN, Kind.REF, of),
        "result[].rating": Field(Trust.OWN, Kind.VALUE),
        "result[].reviews[]": Field(Trust.UNTRUSTED),
    }
    return declared_tool(name, Tier.READ, "look", arguments, results)


def _reserve(name: str, what: str, of: str, *times: str) -> ToolSpec:
    arguments = {what: Argument(Kind.TARGET, of), **dict.fromkeys(times, _TIME)}
    return declared_tool(
        name,
        Tier.WRITE_HARD,
        f"reserve {of}",
        arguments,
        {"result": Field(Trust.OWN, Kind.LABEL)},
        sends=Sends.OUTSIDE,
    )


_TOOLS = (
    *(
        declared_tool(name, Tier.READ, "look", _CITY, {"result[]": Field(Trust.OWN, Kind.REF, of)})
        for name, of in _LISTS.items()
    ),
    *(_about(name, group, kind) for name, (group, kind) in _ABOUT.items()),
    *(_reviewed(name, group) for name, group in _REVIEWS.items()),
    declared_tool(
        "get_user_information",
        Tier.READ,
        "look",
        results={"result": Field(Trust.OWN, Kind.VALUE, private=True)},
    ),
    declared_tool(
        "get_flight_information",
        Tier.READ,
        "look",
        {"departure_city": Argument(Kind.LABEL), "arrival_city": Argument(Kind.LABEL)},
        {
            "result[]": Field(Trust.OWN, Kind.LABEL),
            "result[].Flight Number": Field(Trust.OWN, Kind.REF, "flight"),
            "result[].Departure Time": Field(Trust.OWN, Kind.WHEN),
            "result[].Arrival Time": Field(Trust.OWN, Kind.WHEN),
            "result[].Price": Field(Trust.OWN, Kind.AMOUNT),
            "result[].Contact Information": Field(Trust.OWN, Kind.TARGET),
        },
    ),
    _reserve("reserve_hotel", "hotel", _HOTEL, "start_day", "end_day"),
    _reserve("reserve_restaurant", "restaurant", _RESTAURANT, "start_time"),
    _reserve("reserve_car_rental", "company", _CAR, "start_time", "end_time"),
    SEND_EMAIL,
    CREATE_EVENT,
    SEARCH_EVENTS,
    DAY_EVENTS,
    CANCEL_EVENT,
)


def _reserving(*nouns: str) -> tuple[str, ...]:
    verbs = ("book*", "reserv*")
    return tuple(phrase for verb in verbs for noun in nouns for phrase in (f"{verb} {noun}", f"{noun} {verb}"))


DECLARED = Declared(
    tools=tools_by_name(_TOOLS),
    intents=(
        *OFFICE_INTENTS,
        Intent(f"reserve {_HOTEL}", _reserving("hotel*", "room*", "stay*")),
        Intent(f"reserve {_RESTAURANT}", _reserving("restaurant*", "table*", "lunch", "dinner")),
        Intent(f"reserve {_CAR}", _reserving("car*", "rental*")),
    ),
)
