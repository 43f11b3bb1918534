"""What the database itself refuses, whatever the program does: triggers of decisions and exclusions.

The program checks the same before, to answer in sentences (``approvals.sql``). A wall holds also against a mistake in
the program, an admin's script and a second program.
"""

import pgtrigger

from agentops.tenancy.mailboxes import mailbox

EXCLUDED = f"""
SELECT x.why FROM approvals_exclusion x
JOIN auth_user barred ON barred.id = x.person_id
JOIN auth_user voter ON voter.id = barred.id OR {mailbox("voter")} = {mailbox("barred")}
WHERE x.request_id = {{request}} AND voter.id IN ({{person}}, {{behalf}})"""  # noqa: S608 - constants only
"""SQL for why one of two people may not decide a request, through whichever of their accounts; no row: they may."""

OVERLAP = f"""
SELECT 1 FROM approvals_decision d
JOIN auth_user other ON other.id IN (d.person_id, d.on_behalf_of_id)
JOIN auth_user voter ON voter.id = other.id OR {mailbox("voter")} = {mailbox("other")}
WHERE d.request_id = {{request}} AND d.taken_back_at IS NULL AND voter.id IN ({{person}}, {{behalf}})"""  # noqa: S608 - constants only
"""SQL for whether one of two people has a part in another decision that stands."""

_NEW = {"request": "NEW.request_id", "person": "NEW.person_id", "behalf": "NEW.on_behalf_of_id"}

# The row of the request is locked, so that of two decisions at the same moment the second sees the first.
A_DECISION_HOLDS = pgtrigger.Trigger(
    name="a_decision_holds",
    level=pgtrigger.Row,
    when=pgtrigger.Before,
    operation=pgtrigger.Insert,
    declare=[("asked", "record")],
    func=f"""
    SELECT state, digest INTO asked FROM approvals_approvalrequest WHERE id = NEW.request_id FOR UPDATE;
    IF asked.state IS DISTINCT FROM 'pending' THEN
      RAISE EXCEPTION 'only a pending request is decided' USING ERRCODE = 'check_violation';
    END IF;
    IF asked.digest IS DISTINCT FROM NEW.digest THEN
      RAISE EXCEPTION 'a decision is about what the request says' USING ERRCODE = 'check_violation';
    END IF;
    IF EXISTS ({EXCLUDED.format(**_NEW)}) THEN
      RAISE EXCEPTION 'an excluded person decides in no way' USING ERRCODE = 'check_violation';
    END IF;
    IF EXISTS ({OVERLAP.format(**_NEW)}) THEN
      RAISE EXCEPTION 'decisions are by different people' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;""",  # noqa: S608 - constants only
)

A_DECISION_STAYS = pgtrigger.Trigger(
    name="a_decision_stays",
    level=pgtrigger.Row,
    when=pgtrigger.Before,
    operation=pgtrigger.Update | pgtrigger.Delete,
    func="""
    IF TG_OP = 'UPDATE' THEN
      IF OLD.taken_back_at IS NULL AND to_jsonb(NEW) - 'taken_back_at' = to_jsonb(OLD) - 'taken_back_at' THEN
        RETURN NEW;
      END IF;
    END IF;
    RAISE EXCEPTION 'a decision never changes; it is taken back once' USING ERRCODE = 'check_violation';""",
)

AN_EXCLUSION_STAYS = pgtrigger.Trigger(
    name="an_exclusion_stays",
    level=pgtrigger.Row,
    when=pgtrigger.Before,
    operation=pgtrigger.Update | pgtrigger.Delete,
    func="RAISE EXCEPTION 'an exclusion never changes' USING ERRCODE = 'check_violation';",
)
