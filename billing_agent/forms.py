"""Forms of the billing system's staff screens."""

from datetime import date
from typing import Any

from django import forms

from agentops.kernel.clock import utcnow
from agentops.kernel.money import BadMoney, Money
from agentops.registry.tool import ToolFailure
from billing_agent import models
from billing_agent.connectors.dispute_rules import Told
from billing_agent.connectors.disputing import require_new
from billing_agent.connectors.records import DisputeStatus


class DisputeForm(forms.ModelForm):  # type: ignore[type-arg]  # generic at run time only with a monkey patch
    """A dispute as the bank's letter tells of it. What it comes to is checked on the charge, which is then locked."""

    amount = forms.CharField(
        max_length=40, help_text="In the charge's currency, a point before the decimals: 55.00. No other separators."
    )

    class Meta:
        model = models.Dispute
        fields = ("ref", "charge", "reason", "opened_at", "respond_by")
        help_texts = {"ref": "Its number at the bank or the processor.", "opened_at": "When the bank took the money."}

    def clean(self) -> dict[str, Any]:
        """Make ``told`` of what was typed, and refuse what cannot be kept. In the transaction that keeps it."""
        given = super().clean() or {}
        charge = given.get("charge")
        if self.errors or not isinstance(charge, models.Charge):
            return given
        try:
            amount = Money.parse(given["amount"], charge.currency)
        except BadMoney as error:
            raise forms.ValidationError({"amount": error.in_full}) from error
        told = Told(
            ref=given["ref"],
            charge_ref=charge.ref,
            amount=amount,
            reason=given["reason"],
            status=DisputeStatus.NEEDS_RESPONSE,
            opened_at=given["opened_at"],
            told_at=utcnow(),
            respond_by=given["respond_by"],
        )
        try:
            require_new(charge.tenant_id, told)
        except ToolFailure as failure:
            raise forms.ValidationError(failure.message) from failure
        return {**given, "told": told}


class ClosedPeriodForm(forms.ModelForm):  # type: ignore[type-arg]  # as above
    """Books are closed through a day that is over, so that nothing of today is refused."""

    def clean_through(self) -> date:
        """Refuse a day that is not over in UTC, as the books are dated."""
        through: date = self.cleaned_data["through"]
        if through >= utcnow().date():
            raise forms.ValidationError("That day is not over yet.")
        return through
