from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from django.template import Context, Template
from django.utils import timezone

from agentops.console.marks import Segment, plain

AT = datetime(2026, 11, 3, 13, 2, 11, tzinfo=UTC)


def render(source: str, **context: object) -> str:
    return Template("{% load console %}" + source).render(Context(context))


def test_a_time_is_written_in_the_readers_zone_and_names_it() -> None:
    with timezone.override(ZoneInfo("Europe/Madrid")):
        assert render("{% moment at %}", at=AT) == (
            '<time datetime="2026-11-03T14:02:11+01:00">Tue 3 Nov 2026, 14:02:11 CET</time>'
        )
        assert render('{% moment at "clock" %} {% zone at %}', at=AT) == (
            '<time datetime="2026-11-03T14:02:11+01:00">14:02</time> CET'
        )


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="needs its zone"):
        render("{% moment at %}", at=AT.replace(tzinfo=None))


def test_text_from_outside_is_escaped_whole_and_its_concealed_characters_are_named() -> None:
    text = (Segment("<b>&"), Segment("\u202e", True, "U+202E"), Segment("white on white <i>", True), Segment(" \n"))
    whole = '&lt;b&gt;&amp;<mark class="glyph">U+202E</mark><mark class="concealed">white on white &lt;i&gt;</mark> \n'
    assert render("{{ text|body }}", text=text) == whole
    assert render("{{ text|shown }}", text=text) == f"<bdi>{whole}</bdi>"
    assert render("{{ text|flat }}", text=text) == "&lt;b&gt;&amp;[U+202E]white on white &lt;i&gt; \n"


def test_plain_text_is_one_visible_segment() -> None:
    assert plain("a\u200bb") == (Segment("a\u200bb"),)
    assert plain("") == ()
