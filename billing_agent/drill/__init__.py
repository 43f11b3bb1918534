"""How the fault drill (``manage.py chaos --role billing``) works the billing desk."""

from contextlib import nullcontext

from agentops.registry.drill import DrillSpec
from billing_agent.drill.desk import feed, prepare
from billing_agent.drill.log import action_of, effects, faults, made
from billing_agent.drill.scripts import edited, scripts_for, verdict_on
from billing_agent.drill.staging import PROCESSES, ScriptPlanner, failing

DRILL = DrillSpec(
    planner=ScriptPlanner,
    processes=PROCESSES,
    way=failing,
    scripts_for=scripts_for,
    prepare=prepare,
    feed=feed,
    verdict=verdict_on,
    edited=edited,
    action=action_of,
    effects=effects,
    made=made,
    faults=faults,
    # The billing system is the database itself.
    serving=lambda: nullcontext(""),
    connect=lambda _: None,
)
