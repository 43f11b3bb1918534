"""Whole numbers as people type them: digits alone, so that nobody's thousands are read as somebody else's decimals."""

import re
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.db import models

_DIGITS = re.compile(r"[+-]?[0-9]{1,19}\Z")


class WholeNumberField(forms.IntegerField):
    """A whole number in ASCII digits. Django's own field reads 1.000 as 1, and digits of any script."""

    default_error_messages = {"invalid": "Write a whole number in digits alone, such as 1000; not 1,000 or 1.000."}

    def to_python(self, value: Any) -> int | None:
        """Return the number, None for nothing. Raises ValidationError for any other writing."""
        text = str(value).strip()
        if value in self.empty_values or not text:
            return None
        if isinstance(value, bool) or not _DIGITS.match(text):
            raise ValidationError(self.error_messages["invalid"], code="invalid")
        return int(text)


class WholeNumbers:
    """For admin pages and inlines: each whole number is typed in digits alone."""

    def formfield_for_dbfield(self, db_field: Any, request: Any, **kwargs: Any) -> Any:
        """Return the form's field for a column."""
        if isinstance(db_field, models.IntegerField):
            kwargs["form_class"] = WholeNumberField
        return super().formfield_for_dbfield(db_field, request, **kwargs)  # type: ignore[misc]  # of Django's admin
