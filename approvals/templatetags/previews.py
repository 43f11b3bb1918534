"""Lines of a comparison, as a filter: text from outside must not gain or lose a space on its way."""

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from agentops.templatetags.console import body
from approvals.previews.diff import Line, Piece

register = template.Library()


@register.filter
def line_body(line: Line) -> SafeString:
    """The characters of a line, what differs from the line opposite marked."""
    return format_html_join("", "{}", ((_piece(piece),) for piece in line.pieces))


def _piece(piece: Piece) -> SafeString:
    return format_html('<b class="differs">{}</b>', body(piece.text)) if piece.changed else body(piece.text)
