"""What the look-ups of a session have told so far (pure): the account, its invoices, plans and mail templates."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from agentops.kernel.money import Money
from agentops.registry.offline.looking import CannotKnow, Lookups, NotFound
from agentops.registry.planner import Observation, ObservationStatus
from billing_agent.connectors.records import Template

LOOKUPS_UNTIL = 7
"""Look-ups are proposed while fewer than this many steps are taken, so that changes and mails fit in."""


class NoSuchInvoice(CannotKnow):
    """An invoice was named that is not among the customer's, whether or not it is somebody else's."""

    def __init__(self, named: str) -> None:
        super().__init__(f"no invoice {named} was found among the customer's invoices")


@dataclass(frozen=True)
class Method:
    """A way to pay. ``expires`` is the last day's year and month, None for what does not expire."""

    id: str
    words: str
    expires: tuple[int, int] | None
    is_default: bool

    def is_expired(self, on: date) -> bool:
        """Return whether its last month is over."""
        return self.expires is not None and (on.year, on.month) > self.expires


@dataclass(frozen=True)
class Subscribed:
    """What the customer has subscribed to."""

    id: str
    plan_id: str
    plan: str
    next_plan_id: str
    quantity: int
    status: str
    period_end: datetime
    cancel_at: datetime | None

    @property
    def words(self) -> str:
        """As a person says it, for example ``3 × Trade monthly``."""
        return f"{self.quantity} × {self.plan}" if self.quantity > 1 else self.plan


@dataclass(frozen=True)
class Head:
    """An invoice without its lines. ``left`` is what is still owed."""

    id: str
    number: str
    status: str
    total: Money
    left: Money
    issued_at: datetime | None
    due_at: datetime | None
    attempts: int
    next_attempt_at: datetime | None

    @property
    def words(self) -> str:
        """What people call it."""
        return self.number or self.id


@dataclass(frozen=True)
class Line:
    """One line of an invoice, in minor units; ``starts`` is when the time begins that it pays for."""

    description: str
    quantity: int
    amount_minor: int
    tax_minor: int
    is_proration: bool
    starts: datetime | None
    ends: datetime | None


@dataclass(frozen=True)
class Charge:
    """One attempt to take money. ``refundable`` is the most that can still go back."""

    id: str
    method_id: str
    amount: Money
    has_succeeded: bool
    decline_code: str
    refunded: Money
    refundable: Money
    at: datetime


@dataclass(frozen=True)
class Billed:
    """An invoice with its lines and every attempt to charge it."""

    head: Head
    lines: tuple[Line, ...]
    tax: Money
    charges: tuple[Charge, ...]

    @property
    def paid_by(self) -> Charge | None:
        """The charge that succeeded, None when there was none or more than one."""
        paid = [charge for charge in self.charges if charge.has_succeeded]
        return paid[0] if len(paid) == 1 else None

    @property
    def declined(self) -> Charge | None:
        """The latest attempt, when it was declined."""
        last = max(self.charges, key=lambda charge: charge.at, default=None)
        return last if last is not None and not last.has_succeeded else None


@dataclass(frozen=True)
class Sold:
    """A plan that can be had."""

    id: str
    name: str
    interval: str
    price: Money


@dataclass(frozen=True)
class Account:
    """The customer of the session with all that is open."""

    name: str
    currency: str
    tax_bp: int
    is_exempt: bool
    is_deleted: bool
    methods: tuple[Method, ...]
    subscriptions: tuple[Subscribed, ...]
    open_invoices: tuple[Head, ...]
    has_dispute: bool
    owed: Money
    credit: Money

    def method(self, method_id: str) -> Method | None:
        """Return the customer's own method of that id, or None."""
        return next((method for method in self.methods if method.id == method_id), None)

    def words_of(self, method_id: str) -> str:
        """Return a method as a person recognises it."""
        known = self.method(method_id)
        return "the payment method that was used" if known is None else f"your {known.words}"

    @property
    def default_method(self) -> Method | None:
        """The method that is charged when none is named."""
        return next((method for method in self.methods if method.is_default), None)


class Desk:
    """The facts of one session. ``granted`` are the names of the tools that may be proposed."""

    def __init__(self, history: Sequence[Observation], granted: Iterable[str], today: date) -> None:
        self._lookups = Lookups(history, frozenset(granted), LOOKUPS_UNTIL)
        self._ending = Lookups(history, frozenset(granted), LOOKUPS_UNTIL * 2)
        self.today = today

    def account(self) -> Account:
        """Return the session's customer."""
        return _account(self._lookups.told("lookup_customer_360", {}))

    def latest(self) -> tuple[Head, ...]:
        """Return the latest invoices, the newest first."""
        return tuple(_head(told) for told in self._lookups.told("list_invoices", {})["invoices"])

    def invoice(self, named: str) -> Billed:
        """Return the invoice with that id or number. Raises NoSuchInvoice."""
        try:
            return _billed(self._lookups.told("explain_invoice", {"invoice_id": named}))
        except NotFound:
            raise NoSuchInvoice(named[:40]) from None

    def seen(self) -> tuple[Head, ...]:
        """Return the invoices that were explained in this session."""
        return tuple(billed.head for billed in self._explained())

    def charges_of(self, invoice_id: str) -> tuple[str, ...]:
        """Return the ids of the attempts to charge an invoice that was explained in this session."""
        return tuple(
            charge.id for billed in self._explained() if billed.head.id == invoice_id for charge in billed.charges
        )

    def _explained(self) -> tuple[Billed, ...]:
        return tuple(
            _billed(seen.result)
            for seen in self._lookups.history
            if seen.tool == "explain_invoice" and seen.status is ObservationStatus.OK
        )

    def plans(self) -> tuple[Sold, ...]:
        """Return the plans that are sold in the customer's currency."""
        return tuple(_sold(told) for told in self._lookups.told("list_plans", {})["plans"])

    def templates(self) -> tuple[Template, ...]:
        """Return the reviewed templates. They are asked for when everything else is done."""
        return tuple(_template(told) for told in self._ending.told("list_mail_templates", {})["templates"])


def _account(told: Mapping[str, Any]) -> Account:
    currency = told["currency"]
    return Account(
        name=told["name"],
        currency=currency,
        tax_bp=told["tax_bp"],
        is_exempt=told["tax_exempt"],
        is_deleted=told["is_deleted"],
        methods=tuple(_method(row) for row in told["payment_methods"]),
        subscriptions=tuple(_subscribed(row) for row in told["subscriptions"]),
        open_invoices=tuple(_head(row) for row in told["open_invoices"]),
        has_dispute=any(row["status"] in ("needs_response", "under_review") for row in told["disputes"]),
        owed=Money(told["owed_minor"], currency),
        credit=Money(told["credit_minor"], currency),
    )


def _method(told: Mapping[str, Any]) -> Method:
    year, _, month = (told["expires"] or "").partition("-")
    expires = (int(year), int(month)) if month else None
    return Method(told["payment_method_id"], told["words"], expires, told["is_default"])


def _subscribed(told: Mapping[str, Any]) -> Subscribed:
    return Subscribed(
        id=told["subscription_id"],
        plan_id=told["plan_id"],
        plan=told["plan"],
        next_plan_id=told["next_plan_id"] or "",
        quantity=told["quantity"],
        status=told["status"],
        period_end=datetime.fromisoformat(told["period_end"]),
        cancel_at=moment(told["cancel_at"]),
    )


def _head(told: Mapping[str, Any]) -> Head:
    currency = told["currency"]
    return Head(
        id=told["invoice_id"],
        number=told["number"],
        status=told["status"],
        total=Money(told["total_minor"], currency),
        left=Money(told["left_minor"], currency),
        issued_at=moment(told["issued_at"]),
        due_at=moment(told["due_at"]),
        attempts=told["attempts"],
        next_attempt_at=moment(told["next_attempt_at"]),
    )


def _billed(told: Mapping[str, Any]) -> Billed:
    return Billed(
        head=_head(told),
        lines=tuple(_line(row) for row in told["lines"]),
        tax=Money(told["tax_minor"], told["currency"]),
        charges=tuple(_charge(row) for row in told["charges"]),
    )


def _line(told: Mapping[str, Any]) -> Line:
    return Line(
        description=told["description"],
        quantity=told["quantity"],
        amount_minor=told["amount_minor"],
        tax_minor=told["tax_minor"],
        is_proration=told["proration"],
        starts=moment(told["from"]),
        ends=moment(told["to"]),
    )


def _charge(told: Mapping[str, Any]) -> Charge:
    currency = told["currency"]
    return Charge(
        id=told["charge_id"],
        method_id=told["payment_method_id"],
        amount=Money(told["amount_minor"], currency),
        has_succeeded=told["status"] == "succeeded",
        decline_code=told["decline_code"],
        refunded=Money(told["refunded_minor"], currency),
        refundable=Money(told["refundable_minor"], currency),
        at=datetime.fromisoformat(told["at"]),
    )


def _sold(told: Mapping[str, Any]) -> Sold:
    return Sold(told["plan_id"], told["name"], told["interval"], Money(told["price_minor"], told["currency"]))


def _template(told: Mapping[str, Any]) -> Template:
    return Template(told["template_id"], told["name"], told["subject"], told["body"], reviewed_by="somebody", version=0)


def moment(told: str | None) -> datetime | None:
    """Return a moment that a look-up tells, None for none."""
    return datetime.fromisoformat(told) if told else None
