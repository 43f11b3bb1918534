"""What a session has been told, by whom, and where a value of a proposal came from (pure).

``Evidence`` is filled in the order of events: the request first, then what each call returned. ``trace`` says of one
value which of it is the source, the most trusted first. It compares in normal forms (``policy.forms``), so that a
quoted, re-spaced, re-cased, encoded or rewritten value is recognised, while a value that merely looks alike is not.

Filling costs nothing: what was read is walked, and put into forms, when a value is first traced.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from agentops.policy.addresses import MOST_TEXT, Address, address_of, addresses_in
from agentops.policy.computed import computed
from agentops.policy.directed import ANY_USE, Use, use_of
from agentops.policy.foreign import Foreign
from agentops.policy.forms import squeezed
from agentops.policy.leaves import arguments_of, declared, leaves_of
from agentops.policy.members import Members
from agentops.policy.moments import follows, moment_of
from agentops.policy.numbers import number_of
from agentops.policy.parts import parts_in
from agentops.policy.private import Private
from agentops.policy.records import Key, Records, key_of
from agentops.policy.said import Said, is_settled
from agentops.policy.traces import NOWHERE, Origin, Part, Trace, Where
from agentops.registry.flow import COUNT, UNDECLARED_FIELD, Argument, Field, Flow, Kind, Trust

__all__ = ["Evidence", "Origin", "Part", "Trace"]

MOST_VALUE = 20_000
"""Characters of a value that are compared. A longer one is not from anybody trusted."""

MOST_LEAVES = 20_000
"""Leaves of a session that are looked at. Beyond them nothing is a record, and what is found nowhere is untrusted."""

LONG_CHARACTERS = 60
LONG_WORDS = 8
"""A text longer than this is somebody's text, whatever the record that it stands in."""

_WORDY = frozenset({Kind.TEXT, Kind.LABEL})
_FREE = _WORDY | {Kind.WHEN}
_NOTHING: frozenset[Any] = frozenset()
_OUTSIDE = {Trust.THIRD: Origin.THIRD, Trust.UNTRUSTED: Origin.UNTRUSTED}
_NUMERIC = frozenset({Kind.AMOUNT, Kind.VALUE, Kind.LABEL})
_SCALES = {"minor": (2,), "major": (0,)}
_MOST_RECORDED = 32
_MOST_MEMBERS = 5_000
_TARGET = Argument(Kind.TARGET)
_TOO_LONG = "longer than what is compared"


class Evidence:
    """Everything that a session was told so far.

    What is handed over is kept as it is and must not be changed afterwards.
    """

    def __init__(self, request: str) -> None:
        self._said = [Said(request, Origin.REQUEST, "request")]
        self._approved: dict[tuple[Use, Kind, str, Key], Trace] = {}
        self._records = Records()
        self._foreign = Foreign()
        self._private = Private()
        self._members = Members()
        self._waiting: list[tuple[Where, Flow, Any, frozenset[Any]]] = []
        self._leaves = 0
        self._third = False

    def operator(self, text: str, *, source: str = "operator") -> None:
        """Note what somebody of the house said in this session: an answer to a question, a note at a hand-over."""
        self._said.append(Said(text, Origin.OPERATOR, source))

    def approve(self, flow: Flow, arguments: Mapping[str, Any]) -> None:
        """Note the exact values of a call that a person approved. Whole leaves only, never parts of a text.

        They are approved for what the call does: whom one may write to is not thereby somebody to pay. An amount is
        approved for what the call is directed at only.
        """
        given = tuple(arguments_of(flow, arguments))
        use = use_of(flow, given)
        for _, value, argument in given:
            key = _approval(value, argument)
            if key is not None:
                self._approved[_use(use, argument), *key] = Trace(Origin.APPROVED, "approved")

    def read(
        self, *, step: int, tool: str, flow: Flow, arguments: Mapping[str, Any], result: Any, wrote: bool = False
    ) -> None:
        """Note what a call returned, leaf by leaf, as its flow declares it.

        ``wrote``: what it returns may be what the agent itself had just put there. Such words stay what they were.
        """
        call = Where(step, tool, "", _document(flow, arguments))
        self._waiting.append((call, flow, result, _own_words(flow, arguments) if wrote else _NOTHING))

    def derived(self, text: str, *, origin: Origin, source: str, private: bool = False) -> None:
        """Note a text that was made of others: a summary, the scratchpad, memory, a child's answer.

        ``origin`` is the worst of theirs. What is made of the words of the request or of the house counts as said, what
        is made of records as a record, what is from nowhere as text by somebody else.
        """
        self._take_in()
        where = Where(-1, source, "")
        if private:
            self._private.add(text, origin, where)
        if origin in (Origin.REQUEST, Origin.OPERATOR):
            self._said.append(Said(text, origin, source))
        elif origin in (Origin.APPROVED, Origin.RECORD, Origin.COMPUTED):
            self._leaf(text, Field(Trust.OWN, Kind.TEXT), where)
        else:
            trust = Trust.THIRD if origin is Origin.THIRD else Trust.UNTRUSTED
            self._leaf(text, Field(trust, Kind.TEXT), where)

    @property
    def third_read(self) -> bool:
        """True once somebody outside could have said something: a THIRD or UNTRUSTED leaf that is text or a label.

        Other leaves count when they have three words or more: an account number cannot tell an agent what to do.
        """
        self._take_in()
        return self._third

    @property
    def private_read(self) -> bool:
        """True once a private value was read."""
        self._take_in()
        return self._private.any

    def trace(self, value: Any, argument: Argument, use: Use = ANY_USE) -> Trace:
        """Return where ``value``, a text, number or boolean, came from, if it is used as ``argument`` says.

        ``use`` is that of the call that it belongs to.
        """
        if isinstance(value, str):
            if not value or value.isspace():
                return NOWHERE
            if len(value) > MOST_VALUE:
                origin = Origin.UNTRUSTED if self.third_read else Origin.NOWHERE
                return Trace(origin, how=_TOO_LONG)
        elif not isinstance(value, int | float) or (not isinstance(value, bool) and number_of(value) is None):
            return NOWHERE
        return self._trusted(value, argument, use) or self._untrusted(value, argument)

    def _trusted(self, value: Any, argument: Argument, use: Use) -> Trace | None:
        for said in self._said:
            if (how := said.says(value, argument)) is not None:
                return Trace(said.origin, said.source, "", _span(said, value), how)
        if self._approved:
            key = _approval(value, argument)
            if key is not None and (_use(use, argument), *key) in self._approved:
                return self._approved[_use(use, argument), *key]
        self._take_in()
        if (where := self._records.find(value, argument)) is not None:
            return Trace(Origin.RECORD, where.source, where.document)
        # Rewritten words are looked for last: that takes longer, and what a record has as it is, is no rewriting.
        for said in self._said:
            if (how := said.says_otherwise(value, argument)) is not None:
                return Trace(said.origin, said.source, "", None, how)
        return self._moment(value, argument) or self._computed(value, argument)

    def _untrusted(self, value: Any, argument: Argument) -> Trace:
        found = self._foreign.trace(value)
        return (
            replace(found, how="confusable") if isinstance(value, str) and self._resembles(value, argument) else found
        )

    def _resembles(self, value: str, argument: Argument) -> bool:
        """A name that looks like one that was said or recorded, without being it."""
        form = squeezed(value)
        if argument.kind not in (Kind.TARGET, Kind.REF) or len(form) < 4:
            return False
        names = [squeezed(address.text) for said in self._said for address in said.all_addresses]
        return (
            form in names
            or any(form == squeezed(member) for member in self._records.members(argument.of))
            or (not value.isascii() and any(form in said.squeezed for said in self._said))
        )

    def _moment(self, value: Any, argument: Argument) -> Trace | None:
        """A date of a record, or the day of one and the time of another, or of what was said."""
        if argument.kind not in (Kind.WHEN, Kind.VALUE) or not isinstance(value, str):
            return None
        moments = self._records.moments()
        moment = moment_of(value) if moments else None
        if moment is None:
            return None
        said = [known.moments for known in self._said]
        known = [*said, *(found for found, _ in moments)]
        days = frozenset(day for found in known for day in found.days)
        times = frozenset(time for found in known for time in found.times)
        if follows(moment, days, times, frozenset(length for found in said for length in found.lengths)):
            where = next(
                (where for found, where in moments if found.days & moment.days or found.times & moment.times),
                moments[0][1],
            )
            return Trace(Origin.RECORD, where.source, where.document, None, "date")
        return None

    def _computed(self, value: Any, argument: Argument) -> Trace | None:
        wanted = number_of(value) if argument.kind in _NUMERIC else None
        # Numbers of a record add up to nearly any small count, and to none that means something.
        if wanted is None or (argument.kind is Kind.AMOUNT and argument.of == COUNT):
            return None
        said = [number for known in self._said for number in known.numbers if not number.named]
        amounts = [number.value for number in said if not number.percent]
        records = self._records.numbers(_MOST_RECORDED)
        factors = [number.value for number in said if number.scale is None and not number.percent]
        shares = [number.value for number in said if number.percent]
        for scale in _SCALES.get(argument.of, (0, 2)) if argument.kind is Kind.AMOUNT else (0,):
            numbers = [*(number.scaleb(scale) for number in amounts), *records]
            if how := computed(wanted, numbers, factors=factors, shares=shares):
                return Trace(Origin.COMPUTED, "numbers of the request and the records", how=how)
        return None

    def names_another(self, value: Any, argument: Argument) -> bool:
        """Return whether the request names another member of the reference's set than ``value``."""
        self._take_in()
        own = key_of(value, Kind.REF)
        called = self._members.called(argument.of, self._names)
        if called:
            return own not in called
        members = set(self._records.members(argument.of)) - {own}
        if len(members) > _MOST_MEMBERS:
            return True  # too many to look for each of them
        for said in self._said:
            named = (name for name in said.named(argument.of) if any(map(str.isdigit, name)))
            if any(key_of(name, Kind.REF) != own for name in named):
                return True
            if any(said.says(member, argument) is not None for member in members):
                return True
        return False

    def called(self, value: Any, argument: Argument) -> bool:
        """Return whether the request calls this member of the reference's set by a name that its record has."""
        self._take_in()
        return key_of(value, Kind.REF) in self._members.called(argument.of, self._names)

    def linked_by_named(self, value: Any) -> bool:
        """Return whether an address stands in what a member wrote whom the request names."""
        self._take_in()
        address = address_of(value) if isinstance(value, str) else None
        if address is None:
            return False
        key = address.kind, address.key

        def named(author: Any, of: str) -> bool:
            return any(said.says(str(author), Argument(Kind.REF, of)) is not None for said in self._said)

        return any(
            key == (found.kind, found.key) for text in self._members.wrote(named) for found in addresses_in(text)
        )

    @property
    def says_when(self) -> bool:
        """True when the request, or somebody of the house, names a day or a time of day."""
        return any(said.moments.days or said.moments.times for said in self._said)

    def _names(self, name: str) -> bool:
        return any(said.names(name) is not None for said in self._said)

    def only_a_bound(self, value: Any) -> bool:
        """Return whether the request gives the amount as a limit only: "up to", "at most", "no more than"."""
        found = [number for said in self._said for _, number in said.amounts(value)]
        return bool(found) and all(number.bound for number in found)

    def parts(self, text: str) -> tuple[Part, ...]:
        """Return the addresses, links and long numbers of a text, also those that show only when it is decoded.

        A text longer than what is looked at ends with a part ``rest`` from nowhere.
        """
        found = [Part(address.text, address.kind, self._part(address)) for address in parts_in(text)]
        if len(text) > MOST_TEXT:
            found.append(Part("", "rest", Trace(Origin.NOWHERE, how=_TOO_LONG)))
        return tuple(found)

    def _part(self, address: Address) -> Trace:
        key = address.kind, address.key
        for said in self._said:
            if key in said.addresses:
                return Trace(said.origin, said.source, "", _span(said, address.text))
        for approved, trace in self._approved.items():
            if approved[3] == key:
                return trace
        self._take_in()
        if (where := self._records.part(key, address.text)) is not None:
            return Trace(Origin.RECORD, where.source, where.document)
        return self._untrusted(address.text, _TARGET)

    def private_in(self, text: str) -> tuple[Trace, ...]:
        """Return the private values that a text holds in any form, and that neither the request nor the house said."""
        self._take_in()
        return self._private.within(text, lambda form: any(said.contains(form) for said in self._said))

    def _take_in(self) -> None:
        """Sort the leaves of what was read since the last time."""
        if not self._waiting:
            return
        for call, flow, result, echoes in self._waiting:
            fields: dict[str, Field] = {}
            self._members.add(flow, result)
            for path, value in leaves_of(result):
                self._leaves += 1
                if self._leaves > MOST_LEAVES:
                    self._cut()
                    break
                field = fields.get(path)
                if field is None:
                    field = fields[path] = declared(path, flow.results, UNDECLARED_FIELD)
                if value in echoes and field.trust is Trust.OWN:
                    continue
                where = Where(call.step, call.tool, path, call.document)
                if field is UNDECLARED_FIELD:
                    # The names of what nobody declared are words of somebody outside too.
                    self._leaf(path, field, where)
                self._leaf(value, field, where)
        self._waiting.clear()

    def _cut(self) -> None:
        self._third = True
        self._foreign.overflow()
        self._private.overflow()

    def _leaf(self, value: Any, field: Field, where: Where) -> None:
        origin = _OUTSIDE.get(field.trust)
        if field.trust is Trust.OWN and field.kind is Kind.TEXT and isinstance(value, str) and _is_long(value):
            origin = Origin.UNTRUSTED
        if field.private:
            self._private.add(value, origin or Origin.RECORD, where)
        if origin is None:
            if not isinstance(value, str) or len(value) <= MOST_VALUE:
                self._records.add(value, field.kind, field.of, where)
            if field.trust is Trust.HOUSE and isinstance(value, str):
                self._records.house(value, where)
        elif not isinstance(value, bool):
            text = str(value) if not isinstance(value, int) or number_of(value) is not None else ""
            self._foreign.add(text, origin, where)
            if not self._third and isinstance(value, str) and value:
                self._third = field.kind in _WORDY or len(value.split(None, 2)) > 2


def _is_long(text: str) -> bool:
    return len(text) > LONG_CHARACTERS or len(text.split()) > LONG_WORDS


def _own_words(flow: Flow, arguments: Mapping[str, Any]) -> frozenset[Any]:
    """Return what an agent may put into a call without anybody having said it."""
    return frozenset(
        value
        for _, value, argument in arguments_of(flow, arguments)
        if argument.kind in _FREE and not isinstance(value, bool)
    )


def _use(use: Use, argument: Argument) -> Use:
    return use if argument.kind is Kind.AMOUNT else Use(use.capability)


def _approval(value: Any, argument: Argument) -> tuple[Kind, str, Key] | None:
    if isinstance(value, str) and (len(value) > MOST_VALUE or not value):
        return None
    key: Key | None
    if argument.kind in (Kind.TARGET, Kind.REF) and is_settled(str(value)):
        key = key_of(value, argument.kind)
    else:
        key = (
            f"{type(value).__name__}:{value}"
            if not isinstance(value, int | float) or isinstance(value, bool)
            else number_of(value)
        )
    of = "" if argument.kind is Kind.TARGET else argument.of
    return None if key is None else (argument.kind, of, key)


def _document(flow: Flow, arguments: Mapping[str, Any]) -> str:
    if not flow.document:
        return ""
    found: Any = arguments
    for name in flow.document.split("."):
        found = found.get(name.removesuffix("[]"), "") if isinstance(found, Mapping) else ""
    named = found if isinstance(found, list) else [found]
    return ", ".join(str(item)[:200] for item in named[:10])


def _span(said: Said, value: Any) -> tuple[int, int] | None:
    if not isinstance(value, str):
        return None
    at = said.text.find(value)
    return (at, at + len(value)) if at >= 0 else None
