"""The billing role: job description, tools, autonomy, budget, and where its work comes from."""

from agentops.registry.role import RoleSpec, hands_over
from billing_agent.connectors import disputed, owner_of
from billing_agent.drill import DRILL
from billing_agent.holding import Desk
from billing_agent.hooks import WEBHOOKS
from billing_agent.intake import load_subject, open_subject, take_subjects, waiting_subjects
from billing_agent.playbook import Playbook
from billing_agent.policy import BUDGET, GRANTS, QUEUES, RULES
from billing_agent.processes import PROCESSES
from billing_agent.prompts import INSTRUCTIONS
from billing_agent.reconciling import reconcile
from billing_agent.scenarios import SCENARIOS
from billing_agent.schedules import SCHEDULES
from billing_agent.screens import SCREENS
from billing_agent.tools import TOOLS
from billing_agent.tools.flows import INTENTS

ROLE = RoleSpec(
    name="billing",
    title="Billing agent",
    job_description="Works one customer's billing case: explains, puts right what it may, or hands it to a person.",
    instructions=INSTRUCTIONS,
    success_metric="Cases that end explained or put right, with books that balance, without a person doing them again.",
    subject_kind="case",
    tools=TOOLS,
    grants=GRANTS,
    holder=Desk(),
    queues=QUEUES,
    budget=BUDGET,
    playbook=Playbook,
    load_subject=load_subject,
    open_subject=open_subject,
    waiting_subjects=waiting_subjects,
    take_subjects=take_subjects,
    owner_of=owner_of,
    fallback=hands_over(
        "escalate_case",
        "The session stopped before the case was finished. Its timeline shows what was done and found.",
    ),
    processes=PROCESSES,
    intents=INTENTS,
    webhooks=WEBHOOKS,
    schedules=SCHEDULES,
    disputed=disputed,
    rules=RULES,
    screens=SCREENS,
    reconcile=reconcile,
    drill=DRILL,
    scenarios=SCENARIOS,
)
