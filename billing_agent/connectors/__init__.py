"""Systems of record for billing, behind one port."""
