"""The Celery application. Its messages are doorbells: the work lies in the database."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agentops.settings.production")

app = Celery("agentops")
app.config_from_object("django.conf:settings", namespace="CELERY")
