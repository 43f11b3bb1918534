"""``manage.py NAME`` for each module here."""
