"""What time does to a request: deadlines in working hours, reminders, the ladder."""
