"""The offline playbook: a deterministic planner that reads a case and works it."""

from billing_agent.playbook.planner import Playbook

__all__ = ["Playbook"]
