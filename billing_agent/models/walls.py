"""What the database itself refuses about money that came in and went back: triggers of the tables of payments.

The rules of ``billing_agent.connectors`` say the same in words. These hold for whatever else writes to the tables, so
they lock the charge that they look at: two writers at once cannot both be the last.
"""

import pgtrigger

APPEND_ONLY = pgtrigger.Protect(name="append_only", operation=pgtrigger.Update | pgtrigger.Delete)

_RAISE = "RAISE EXCEPTION '{words}' USING ERRCODE = 'check_violation';"


def _adds_up(charge: str) -> str:
    """Return the body that checks the charge whose id ``charge`` is, when everything of the transaction is there."""
    return f"""
    SELECT c.id, c.currency, c.refunded_minor, CASE WHEN c.status = 'succeeded' THEN c.amount_minor ELSE 0 END AS took
      INTO charge FROM billing_agent_charge c WHERE c.id = {charge} FOR UPDATE;
    SELECT coalesce(sum(r.amount_minor), 0), coalesce(bool_or(r.currency <> charge.currency), false)
      INTO refunded, other FROM billing_agent_refund r WHERE r.charge_id = charge.id;
    SELECT coalesce(sum(d.amount_minor) FILTER (WHERE d.status <> 'won'), 0),
      other OR coalesce(bool_or(d.currency <> charge.currency), false)
      INTO held, other FROM billing_agent_dispute d WHERE d.charge_id = charge.id;
    IF other THEN
      {_RAISE.format(words="what goes back of a charge is in its currency")}
    ELSIF refunded <> charge.refunded_minor THEN
      {_RAISE.format(words="what went back of a charge is what its refunds come to")}
    ELSIF refunded + held > charge.took THEN
      {_RAISE.format(words="no more goes back of a charge than it took, less what banks hold or kept")}
    END IF;
    RETURN NULL;"""  # noqa: S608 - NEW.id or NEW.charge_id, as the tables of this package say


def charge_adds_up(charge: str, operation: pgtrigger.Operation) -> pgtrigger.Trigger:
    """Return the trigger that checks the charge of a row at commit. ``charge`` is where the row has the charge's id."""
    return pgtrigger.Trigger(
        name="a_charge_adds_up",
        level=pgtrigger.Row,
        when=pgtrigger.After,
        operation=operation,
        timing=pgtrigger.Deferred,
        declare=[("charge", "record"), ("refunded", "numeric"), ("held", "numeric"), ("other", "boolean")],
        func=_adds_up(charge),
    )


NO_REFUND_DURING_A_DISPUTE = pgtrigger.Trigger(
    name="no_refund_during_a_dispute",
    level=pgtrigger.Row,
    when=pgtrigger.Before,
    operation=pgtrigger.Insert,
    func=f"""
    PERFORM 1 FROM billing_agent_charge c WHERE c.id = NEW.charge_id FOR UPDATE;
    IF EXISTS (SELECT 1 FROM billing_agent_dispute d WHERE d.charge_id = NEW.charge_id
               AND d.status NOT IN ('won', 'lost')) THEN
      {_RAISE.format(words="nothing is refunded of a charge while a dispute about it is open")}
    END IF;
    RETURN NEW;""",  # noqa: S608 - only words are put in
)


def stays(words: str, *columns: str) -> pgtrigger.Trigger:
    """Return the trigger that refuses another value of ``columns``, and that a row goes. ``words`` say it to people."""
    changed = " OR ".join(f"NEW.{column} IS DISTINCT FROM OLD.{column}" for column in columns)
    return pgtrigger.Trigger(
        name="what_happened_stays",
        level=pgtrigger.Row,
        when=pgtrigger.Before,
        operation=pgtrigger.Update | pgtrigger.Delete,
        func=f"""
    IF TG_OP = 'DELETE' OR {changed} THEN
      {_RAISE.format(words=words)}
    END IF;
    RETURN NEW;""",
    )


A_DECIDED_DISPUTE_STAYS = pgtrigger.Trigger(
    name="a_decided_dispute_stays",
    level=pgtrigger.Row,
    when=pgtrigger.Before,
    operation=pgtrigger.Update,
    condition=pgtrigger.Q(old__status__in=["won", "lost"]),
    func=_RAISE.format(words="a dispute that is decided never changes"),
)
