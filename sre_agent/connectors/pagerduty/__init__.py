"""PagerDuty as what calls people. Imported only where it is used: its SDK is an optional extra."""

from sre_agent.connectors.pagerduty.pager import PagerDutyPager

__all__ = ["PagerDutyPager"]
