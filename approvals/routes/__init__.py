"""Where a request goes: to which queue, to which person, and back when somebody is away."""
