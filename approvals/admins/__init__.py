"""The admin's screens of approvals. Importing ``approvals.admin`` registers them."""
