"""What a tool declares about the values that go into it and come out of it, and what a role says a request may ask for.

Everything here is a declaration. Where a value of a proposal came from, and what that means for the call, is worked
out from it in ``policy.evidence`` and ``policy.flow``. What is not declared is taken as the worst: an argument names a
target outside, a result is private text by somebody else.

Paths are dotted; ``[]`` stands for every item of a list and ``*`` for every key of an object: ``items[].price_minor``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Kind(StrEnum):
    """What a value means to a call."""

    TARGET = "target"  # a place or person outside the house: account, e-mail address, URL, phone number
    REF = "ref"  # one member of a set of the house's own, such as an order; ``of`` names the set
    AMOUNT = "amount"  # money, or a quantity that costs
    SECRET = "secret"  # noqa: S105 - the name of a kind: a password, a key
    CODE = "code"  # SQL, a command, a program
    ROLE = "role"  # a permission or a role that somebody gets
    VALUE = "value"  # another value that the effect depends on
    WHEN = "when"  # a date or a time
    TEXT = "text"  # words for a person to read
    LABEL = "label"  # a word that changes nothing by itself: a language, an order of sorting, a reason to choose from


COUNT = "count"
"""The unit of an AMOUNT that says how many, and is no money."""


class Trust(StrEnum):
    """Who wrote a value of a result."""

    HOUSE = "house"  # text that the house wrote and answers for: its knowledge base, its policies
    OWN = "own"  # a record or a directory of the house
    THIRD = "third"  # somebody outside, in a record of the house: who wrote, who paid
    UNTRUSTED = "untrusted"  # text by somebody outside


class Sends(StrEnum):
    """Whether a call carries something out of the house."""

    NOWHERE = "nowhere"
    SUBJECT = "subject"  # to the person whose request this is, and to nobody else
    OUTSIDE = "outside"  # elsewhere; fetching an address does, as the address tells something


@dataclass(frozen=True)
class Argument:
    """What one argument means. ``of`` names the set that a REF, or a TARGET with a directory, is a member of.

    Of an AMOUNT it is the unit: ``minor`` or ``major`` units of money, or COUNT.
    """

    kind: Kind
    of: str = ""


@dataclass(frozen=True)
class Field:
    """What one value of a result is. ``private``: it may not leave the house in a text. ``of`` as in Argument."""

    trust: Trust
    kind: Kind = Kind.TEXT
    of: str = ""
    private: bool = False


UNDECLARED_ARGUMENT = Argument(Kind.TARGET)
UNDECLARED_FIELD = Field(Trust.UNTRUSTED, Kind.TEXT, private=True)


@dataclass(frozen=True)
class Flow:
    """The declaration of one tool.

    ``capability`` is what the call does, in the role's own words, such as ``pay``; a request has to ask for it.
    ``document`` is the path of the argument that names what is read, empty when the result is no document. ``author``
    is the path of the result that says who wrote the other values beside it, when the system that holds it vouches for
    that: the member who sent a message, not the sender of an e-mail. ``on_customer``: a call that names no target and
    no record is about the customer of its session, so that a second one is the same action, whatever else it says.
    """

    capability: str = ""
    sends: Sends = Sends.NOWHERE
    arguments: Mapping[str, Argument] = field(default_factory=dict)
    results: Mapping[str, Field] = field(default_factory=dict)
    document: str = ""
    author: str = ""
    on_customer: bool = False


UNDECLARED = Flow()


@dataclass(frozen=True)
class Intent:
    """Words of a request that ask for a capability.

    A phrase is words with spaces between: all of them stand in one sentence of the request, in that order, with
    anything between; a word that ends with ``*`` is the beginning of one. An intent without phrases is part of every
    request.
    """

    capability: str
    phrases: tuple[str, ...] = ()
