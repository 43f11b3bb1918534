"""The parts of a request's page, each built from rows and events by one module."""
