"""A Slack of our own on loopback, as https://docs.slack.dev/reference/methods describes it.

``workspace`` keeps channels, threads and metadata, for status updates; ``notices`` is what notices to approvers need.
"""
