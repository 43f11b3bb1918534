"""A PagerDuty of our own on loopback, as https://developer.pagerduty.com/api-reference describes REST, version 2."""
