"""Whether somebody who has to do with a session is the customer that it is about: nobody decides in their own favour.

People and customers are compared by mailbox, as two accounts of one person are (``agentops.tenancy.mailboxes``).
"""

from agentops.ledger.sql import fetch_one
from agentops.runtime.work import Work
from agentops.tenancy.mailboxes import mailbox, mailbox_at

_BENEFITS = f"""
SELECT EXISTS (
  SELECT 1 FROM auth_user u
  WHERE {mailbox("u")} IN ({mailbox_at("%(sender)s::text")}, {mailbox_at("%(customer)s::text")})
    AND ('user:' || u.username = %(actor)s
      OR 'user:' || u.username = (SELECT s.created_by FROM session s WHERE s.id = %(session)s)
      OR u.id = (SELECT a.owner_id FROM agentops_agent a WHERE a.id = %(agent)s)))"""  # noqa: S608 - constants only


def requester_benefits(work: Work) -> bool:
    """Return whether the session's customer has the mailbox of whoever began it, proposes its step or owns the agent.

    The customer is whoever the work came from, and whom the system of record knows as the customer.
    """
    subject = work.subject
    if not subject.sender and not subject.customer_email:
        return False
    if work.actor not in work.benefits:
        work.benefits[work.actor] = _asked(work)
    return work.benefits[work.actor]


def _asked(work: Work) -> bool:
    subject, held = work.subject, work.held
    params = {
        "sender": subject.sender,
        "customer": subject.customer_email,
        "actor": work.actor,
        "session": held.id,
        "agent": held.agent_id,
    }
    row = fetch_one(_BENEFITS, params)
    return row is not None and bool(row[0])
