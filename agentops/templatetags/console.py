"""Marks that stand everywhere in the templates: icons, times, and text from outside.

Tags rather than included templates, because a timeline holds hundreds of them and because text from
outside must not gain or lose a space on its way.
"""

from datetime import datetime
from typing import Literal

from django import template
from django.templatetags.static import static
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from agentops.console.marks import Kind, Segment, State, Text
from agentops.console.reveal import reveal_cut

register = template.Library()

MOST_TOLD = 300
_FORMATS = {
    "full": "D j M Y, H:i:s T",
    "minute": "D j M Y, H:i T",
    "day": "l j F Y, H:i T",
    "short": "j M Y, H:i",
    "second": "H:i:s",
    "clock": "H:i",
}


@register.simple_tag
def icon(name: str) -> SafeString:
    """The symbol `name` of `static/icons.svg`. Decoration: a word always stands beside it."""
    return format_html('<svg class="i" aria-hidden="true"><use href="{}#i-{}"/></svg>', static("icons.svg"), name)


@register.simple_tag
def moment(at: datetime, form: Literal["full", "minute", "day", "short", "second", "clock"] = "full") -> SafeString:
    """A `<time>` in the reader's zone. Short forms leave the zone to the heading above them.

    Raises ValueError for a naive datetime: its moment is unknown.
    """
    if timezone.is_naive(at):
        raise ValueError("a time on a page needs its zone")
    local = timezone.localtime(at)
    return format_html(
        '<time datetime="{}">{}</time>',
        local.isoformat(timespec="seconds"),
        date_format(local, _FORMATS[form]),
    )


@register.simple_tag
def zone(at: datetime) -> str:
    """The abbreviation of the reader's zone at that time ("CET"), for headings above bare clock times."""
    return timezone.localtime(at).strftime("%Z")


@register.inclusion_tag("components/state.html")
def state(kind: Kind, word: str) -> dict[str, State]:
    """A status in a word with its mark, for pages that are given the two apart."""
    return {"state": State(kind, word)}


def _segment(segment: Segment) -> SafeString:
    if not segment.concealed:
        return format_html("{}", segment.text)
    if segment.name:
        return format_html('<mark class="glyph">{}</mark>', segment.name)
    return format_html('<mark class="concealed">{}</mark>', segment.text)


@register.filter
def body(text: Text) -> SafeString:
    """Text from outside, escaped, concealed characters named: all of an element that has dir="auto"."""
    return format_html_join("", "{}", ((_segment(part),) for part in text))


@register.filter
def shown(text: Text) -> SafeString:
    """The same inside a sentence of ours, which its direction cannot turn around."""
    return format_html("<bdi>{}</bdi>", body(text))


@register.filter
def flat(text: Text) -> str:
    """The same as one plain string, for attributes and window titles. Concealed characters are named."""
    return "".join(f"[{part.name}]" if part.name else part.text for part in text)


@register.filter
def told(text: str) -> SafeString:
    """Text from outside that nobody has prepared yet, inside a sentence of ours: revealed, on one line, cut."""
    return shown(reveal_cut(text, MOST_TOLD))
