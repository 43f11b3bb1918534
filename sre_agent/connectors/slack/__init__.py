"""Slack as the place of status updates. Imported only where it is used: its SDK is an optional extra."""

from sre_agent.connectors.slack.board import SlackBoard

__all__ = ["SlackBoard"]
