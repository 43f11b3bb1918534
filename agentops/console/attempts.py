"""What somebody has just tried on a session's page and what stood against it, so that the page can show it in place."""

from dataclasses import dataclass

from django import forms


@dataclass(frozen=True)
class Attempt:
    """``what`` is the control's name, ``key`` the id of what it was about, ``form`` what was typed and why not."""

    what: str
    form: forms.Form
    key: str = ""

    def form_of(self, what: str, key: str = "") -> forms.Form | None:
        """Return the form as it was sent, None when something else was tried."""
        return self.form if (self.what, self.key) == (what, key) else None
