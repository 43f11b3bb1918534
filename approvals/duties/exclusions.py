"""Who may not decide a request, written down when it is opened: whoever asked for it, changed it, or gains by it.

People are found by the actor's name (``user:NAME``). Another account with the same mailbox is the same person; the
database looks at mailboxes again at each decision (``duties.walls``).
"""

from agentops.ledger.sql import fetch_one
from agentops.runtime.ports import ApprovalCase
from agentops.tenancy.mailboxes import mailbox
from approvals.models import ApprovalRequest, Exclusion

_USER = "user:"

_EXCLUDE = f"""
WITH involved AS (
  SELECT u.id, u.email, w.why FROM unnest(%(names)s::text[], %(whys)s::text[]) AS w(name, why)
  JOIN auth_user u ON u.username = w.name
  UNION
  SELECT u.id, u.email, %(requester)s::text FROM session s JOIN auth_user u ON 'user:' || u.username = s.created_by
  WHERE s.id = %(session)s
  UNION
  SELECT u.id, u.email, %(owner)s::text FROM session s JOIN agentops_agent a ON a.id = s.agent_id
  JOIN auth_user u ON u.id = a.owner_id WHERE s.id = %(session)s
), barred AS (
  SELECT u.id, i.why FROM involved i
  JOIN auth_user u ON u.id = i.id OR {mailbox("u")} = {mailbox("i")}
  UNION
  SELECT person_id, why FROM approvals_exclusion WHERE request_id = %(supersedes)s AND why = %(editor)s
  UNION
  SELECT u.id, %(beneficiary)s::text FROM unnest(%(gaining)s::text[]) AS w(email)
  JOIN auth_user u ON {mailbox("u")} = {mailbox("w")}
), written AS (
  INSERT INTO approvals_exclusion (request_id, person_id, why) SELECT %(request)s, id, why FROM barred
  ON CONFLICT DO NOTHING RETURNING 1
)
SELECT count(*) FROM written"""  # noqa: S608 - constants only


def exclude(request: ApprovalRequest, case: ApprovalCase) -> int:
    """Write down, in the transaction that opens a request, who may not decide it, and return how many.

    ``case.requester`` and whoever began the session by hand asked for it, ``case.editor`` and the editors of the
    requests that it comes from changed it, the agent's owner owns it, and whoever has the mailbox of ``case.sender``
    or ``case.customer_email`` gains by it.
    """
    why = Exclusion.Why
    acted = [(case.requester, why.REQUESTER), (case.editor, why.EDITOR)]
    named = [(actor.removeprefix(_USER), reason.value) for actor, reason in acted if actor.startswith(_USER)]
    params = {
        "request": request.pk,
        "session": case.session_id,
        "names": [name for name, _ in named],
        "whys": [reason for _, reason in named],
        "requester": why.REQUESTER.value,
        "owner": why.OWNER.value,
        "editor": why.EDITOR.value,
        "supersedes": request.supersedes_id,
        "beneficiary": why.BENEFICIARY.value,
        "gaining": [case.sender, case.customer_email],
    }
    row = fetch_one(_EXCLUDE, params)
    return int(row[0]) if row is not None else 0
