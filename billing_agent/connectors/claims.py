"""The operations of the billing system: what happened under which key."""

from agentops.registry.once import Once
from billing_agent.models import Operation

ONCE = Once(Operation, subject="case_ref", name="billing database")
record_result = ONCE.record
