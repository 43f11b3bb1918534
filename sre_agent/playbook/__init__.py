"""The offline playbook: a deterministic planner that reads an incident, acts carefully and looks whether it helped."""

from sre_agent.playbook.planner import Playbook

__all__ = ["Playbook"]
