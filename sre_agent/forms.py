"""What people write about an incident."""

from typing import Any

from django import forms

from sre_agent.models import StatusUpdate

MOST_WORDS = StatusUpdate._meta.get_field("text").max_length  # noqa: SLF001 - Django's public interface


class PublishForm(forms.Form):
    """The words of a status update as customers are to read them."""

    text = forms.CharField(
        label="What customers read",
        max_length=MOST_WORDS,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text="An agent drafted it. Change it as you like; it is published in your name, as plain text.",
        error_messages={"required": "Write what customers are to read."},
    )

    def __init__(self, *args: Any, update: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.auto_id = f"id_{update}_%s"
