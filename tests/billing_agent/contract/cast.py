"""The people of the contract suite, and one write of each kind with what it moves."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from agentops.kernel.money import Money
from billing_agent.connectors.port import (
    ApplyCredit,
    CancelSubscription,
    ChangePlan,
    DropPlanChange,
    GenerateInvoice,
    Item,
    KeepSubscription,
    PauseSubscription,
    RefundCharge,
    ResumeSubscription,
    RetryCharge,
    ReverseCredit,
    VoidInvoice,
    Write,
    WriteOffInvoice,
)
from tests.billing_agent.contract.harness import System


def usd(minor: int) -> Money:
    """Return an amount of US cents."""
    return Money(minor, "USD")


@dataclass(frozen=True)
class Cast:
    """Dana is billed with 10 % tax and has a default card that pays and one that declines.

    They have a subscription to Team at $20.00 a month; Business is $50.00. One invoice over $22.00 is open, and one
    over $55.00 is paid by ``charge``. Erin is billed too and is nobody whom Dana's cases may touch.
    """

    system: System
    dana: str
    erin: str
    card: str
    broke: str
    team: str
    business: str
    subscription: str
    open: str
    paid: str
    charge: str

    def act(self, write: Write, key: str = "") -> Mapping[str, object]:
        """Carry a write for Dana out."""
        return self.system.act(self.dana, write, key)


def make_cast(system: System) -> Cast:
    """Make Dana, Erin and what they have; all money moves through the port."""
    dana, erin = system.customer("Dana"), system.customer("Erin")
    card = system.card(dana, default=True)
    team, business = system.plan("Team", 2000), system.plan("Business", 5000)
    subscription = system.subscription(dana, team)
    paid = system.bill(dana, 5000)
    charge = system.pay(dana, paid, card)
    broke = system.card(dana, declines="insufficient_funds")
    opened = system.bill(dana, 2000)
    return Cast(system, dana, erin, card, broke, team, business, subscription, opened, paid, charge)


def _reversal(cast: Cast) -> Write:
    return ReverseCredit(str(cast.act(ApplyCredit(usd(300), "Late reply"))["credit_id"]), "Given twice")


def _dropped_change(cast: Cast) -> Write:
    cast.act(ChangePlan(cast.subscription, cast.business, 1, now=False))
    return DropPlanChange(cast.subscription)


def _resumption(cast: Cast) -> Write:
    cast.act(PauseSubscription(cast.subscription, None))
    return ResumeSubscription(cast.subscription)


def _kept(cast: Cast) -> Write:
    cast.act(CancelSubscription(cast.subscription, now=False, reason="Too dear"))
    return KeepSubscription(cast.subscription)


WRITES: Mapping[str, Callable[[Cast], Write]] = {
    "credit": lambda cast: ApplyCredit(usd(500), "Late reply"),
    "credit on an invoice": lambda cast: ApplyCredit(usd(500), "Late", cast.open),
    "credit over an invoice": lambda cast: ApplyCredit(usd(2500), "Late", cast.open),
    "credit taken back": _reversal,
    "charge": lambda cast: RetryCharge(cast.open, cast.card, usd(2200)),
    "declined charge": lambda cast: RetryCharge(cast.open, cast.broke, usd(2200)),
    "refund": lambda cast: RefundCharge(cast.charge, usd(1234), "Half was not held"),
    "plan changed later": lambda cast: ChangePlan(cast.subscription, cast.business, 1, now=False),
    "plan change dropped": _dropped_change,
    "invoice": lambda cast: GenerateInvoice((Item("Extra", 3, 333), Item("More", 1, 100)), "USD", "Extra", 14),
    "void": lambda cast: VoidInvoice(cast.open, "Billed twice"),
    "written off": lambda cast: WriteOffInvoice(cast.system.bill(cast.dana, 1000, due_days=0), "Nobody pays it"),
    "paused": lambda cast: PauseSubscription(cast.subscription, None),
    "resumed": _resumption,
    "cancelled": lambda cast: CancelSubscription(cast.subscription, now=True, reason="Too dear"),
    "cancelled later": lambda cast: CancelSubscription(cast.subscription, now=False, reason="Too dear"),
    "kept": _kept,
    "plan changed": lambda cast: ChangePlan(cast.subscription, cast.business, 2, now=True),
}

MOVES: Mapping[str, Mapping[str, int]] = {
    "credit": {"credit": 500},
    "credit on an invoice": {"owed": -500},
    "credit over an invoice": {"owed": -2200, "credit": 300},
    "credit taken back": {"credit": -300},
    "charge": {"charges": 1, "charged": 2200, "owed": -2200},
    "declined charge": {"charges": 1},
    "refund": {"refunds": 1, "refunded": 1234},
    "invoice": {"invoices": 1, "owed": 1209},
    "void": {"owed": -2200},
    "written off": {"owed": -1100},
}
"""What each write adds to Dana's books. Those of subscriptions move nothing, except a change of the plan now."""

SAID: Mapping[str, int] = {
    "credit": 500,
    "credit on an invoice": 500,
    "credit over an invoice": 2500,
    "charge": 2200,
    "declined charge": 2200,
    "refund": 1234,
    "invoice": 1209,
    "void": 2200,
    "written off": 1100,
}
"""What each preview says that it is about."""
