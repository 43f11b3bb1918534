"""The SRE role: job description, tools, autonomy, budget, and where its work comes from."""

from agentops.registry.phase import Phase
from agentops.registry.role import RoleSpec, hands_over
from sre_agent.changes import PLATFORM
from sre_agent.connectors import CLOUDWATCH_KEY, SLACK_KEY, is_embedded
from sre_agent.hooks import WEBHOOKS
from sre_agent.intake import KIND, load_subject, open_subject, owner_of, take_subjects, waiting_subjects
from sre_agent.playbook import Playbook
from sre_agent.policy import BUDGET, GRANTS, QUEUES, RULES
from sre_agent.processes import EVIDENCE, PROCESSES
from sre_agent.prompts import INSTRUCTIONS
from sre_agent.scenarios import SCENARIOS
from sre_agent.schedules import SCHEDULES
from sre_agent.screens import SCREENS
from sre_agent.tools import TOOLS
from sre_agent.tools.flows import INTENTS

ACT = Phase(
    name="act",
    title="Changing the platform",
    tools=frozenset(PLATFORM),
    needs=EVIDENCE,
    words="Nothing is changed before logs, metrics and deploys were read.",
)


def _besides() -> tuple[str, ...]:
    """Return what is needed outside the tools that have it: people publish, and a platform asks how its services do."""
    board = () if is_embedded("SRE_BOARD") else (SLACK_KEY,)
    asked = not is_embedded("SRE_PLATFORM") and not is_embedded("SRE_OBSERVATORY")
    return (*board, CLOUDWATCH_KEY) if asked else board


ROLE = RoleSpec(
    name="sre",
    title="SRE agent",
    job_description="Works one incident: finds out why services fail, mends it one change at a time, or escalates.",
    instructions=INSTRUCTIONS,
    success_metric="Incidents that end soon and stay ended, with no change that made one worse or that did not help.",
    subject_kind=KIND,
    tools=TOOLS,
    grants=GRANTS,
    queues=QUEUES,
    budget=BUDGET,
    playbook=Playbook,
    load_subject=load_subject,
    open_subject=open_subject,
    waiting_subjects=waiting_subjects,
    take_subjects=take_subjects,
    owner_of=owner_of,
    fallback=hands_over(
        "escalate_incident",
        "The session stopped before the incident was over. Its timeline shows what was found and done.",
    ),
    processes=PROCESSES,
    phases=(ACT,),
    intents=INTENTS,
    webhooks=WEBHOOKS,
    schedules=SCHEDULES,
    credentials=_besides(),
    rules=RULES,
    screens=SCREENS,
    scenarios=SCENARIOS,
)
