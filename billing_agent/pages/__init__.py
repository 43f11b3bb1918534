"""The pages of billing: from queries to what their templates receive."""
