"""Stripe as the system of record. Imported only where it is used: its SDK is an optional extra."""
