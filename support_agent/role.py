"""The support role: job description, tools, autonomy, budget, and where its work comes from."""

from agentops.registry.role import RoleSpec, hands_over
from support_agent.connectors import owner_of
from support_agent.holding import Desk
from support_agent.intake import load_subject, open_subject, take_subjects, waiting_subjects
from support_agent.playbook import Playbook
from support_agent.policy import BUDGET, GRANTS, QUEUES
from support_agent.processes import PROCESSES
from support_agent.prompts import INSTRUCTIONS
from support_agent.scenarios import SCENARIOS
from support_agent.tools import TOOLS
from support_agent.tools.flows import INTENTS

ROLE = RoleSpec(
    name="support",
    title="Support agent",
    job_description="Works one customer's ticket: finds out, puts right what it may, answers, or hands it to a person.",
    instructions=INSTRUCTIONS,
    success_metric="Tickets that end answered or put right, without a person having to do them again.",
    subject_kind="ticket",
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
        "escalate_ticket",
        "The session stopped before the ticket was finished. Its timeline shows what was done and found.",
    ),
    processes=PROCESSES,
    intents=INTENTS,
    scenarios=SCENARIOS,
)
