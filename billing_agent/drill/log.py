"""What took effect at the billing system, by its log of operations; and where log, records and books disagree."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db.models import Model

from agentops.registry.drill import Action, Effect
from billing_agent import models
from billing_agent.books import imbalances

OPERATIONS = {
    "apply_credit": "ApplyCredit",
    "reverse_credit": "ReverseCredit",
    "retry_charge": "RetryCharge",
    "refund_charge": "RefundCharge",
    "generate_invoice": "GenerateInvoice",
    "void_invoice": "VoidInvoice",
    "write_off_invoice": "WriteOffInvoice",
    "change_plan": "ChangePlan",
    "drop_plan_change": "DropPlanChange",
    "pause_subscription": "PauseSubscription",
    "resume_subscription": "ResumeSubscription",
    "cancel_subscription": "CancelSubscription",
    "end_subscription_now": "CancelSubscription",
    "keep_subscription": "KeepSubscription",
    "draft_email": "WriteMail",
    "send_email": "WriteMail",
    "recall_email": "RecallMail",
    "discard_email_draft": "DiscardMail",
    "close_case": "CloseCase",
    "reopen_case": "ReopenCase",
    "escalate_case": "EscalateCase",
}
"""What the log calls the writes of the role's tools."""
_RECORDS: tuple[tuple[str, type[Model]], ...] = (
    ("ApplyCredit", models.Credit),
    ("RefundCharge", models.Refund),
    ("RetryCharge", models.Charge),
    ("WriteMail", models.Mail),
)
"""Which record an operation leaves, one for each."""


def action_of(tool: str, arguments: Mapping[str, Any], case: str) -> Action:
    """Return what a call is known as: the operation, and the case with what tells it from others of the case."""
    match tool:
        case "draft_email" | "send_email":
            told = "draft" if tool == "draft_email" else "sent"
        case "generate_invoice":
            told = str(sum(item["quantity"] * item["unit_minor"] for item in arguments["items"]))
        case "change_plan":
            told = arguments["plan_id"]
        case "retry_charge":
            told = f"{arguments['payment_method_id']} {arguments['amount_minor']}"
        case _:
            told = str(arguments.get("amount_minor", ""))
    return OPERATIONS[tool], f"{case} {told}".strip()


def effects() -> list[Effect]:
    """Return every operation of the drill's cases."""
    return [_effect(row) for row in models.Operation.objects.order_by("id")]


def made(action: Action) -> bool:
    """Return whether there is such an operation."""
    return any(effect.action == action for effect in effects())


def _effect(row: models.Operation) -> Effect:
    result, told, minor = row.result, "", None
    match row.action:
        case "ApplyCredit" | "RefundCharge":
            minor = result["amount_minor"]
            told = str(minor)
        case "RetryCharge":
            told = f"{result['payment_method_id']} {result['amount_minor']}"
            minor = result["amount_minor"] if result["status"] == models.Charge.Status.SUCCEEDED else None
        case "GenerateInvoice":
            told, minor = str(result["subtotal_minor"]), result["total_minor"]
        case "ChangePlan":
            told = result.get("next_plan_id") or result["plan_id"]
            minor = result.get("invoiced_minor", 0) or result.get("credited_minor", 0)
        case "WriteMail":
            told = result["status"]
    return Effect((row.action, f"{row.case_ref} {told}".strip()), row.key, minor)


def faults(tenants: Sequence[UUID]) -> list[str]:
    """Return, in words, what is wrong with the books, and where records and log disagree."""
    unbalanced = [finding.words for tenant in tenants for finding in imbalances(tenant)]
    return [*unbalanced, *_unlogged()]


def _unlogged() -> Iterator[str]:
    """Every record that a call made has its operation, and every operation the one record that it makes."""
    actions = dict(models.Operation.objects.values_list("key", "action"))
    for action, table in _RECORDS:
        rows = table._default_manager.exclude(operation_key="")  # noqa: SLF001 - Django's public interface to a model
        records = Counter(rows.values_list("operation_key", flat=True))
        name = table._meta.verbose_name  # noqa: SLF001 - as above
        for key in records.keys() - actions.keys():
            yield f"a {name} was made by the operation {key}, which is not in the log"
        for key in (key for key, made_by in actions.items() if made_by == action):
            if records[key] != 1:
                yield f"the operation {key} left {records[key]} times a {name}"
    entries = models.Entry.objects.exclude(operation_key="")
    for key in set(entries.values_list("operation_key", flat=True)) - actions.keys():
        yield f"an entry of the books was made by the operation {key}, which is not in the log"
