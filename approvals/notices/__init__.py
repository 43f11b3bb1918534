"""Telling people by e-mail and Slack: an outbox, its delivery, and links that lead to a request and decide nothing."""
