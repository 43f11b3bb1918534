"""The offline playbook: a deterministic planner that reads a ticket and works it."""

from support_agent.playbook.planner import Playbook

__all__ = ["Playbook"]
