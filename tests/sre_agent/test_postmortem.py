"""The draft of a post-mortem: the same record gives the same text, and nobody's words become anything but words."""

import html
import re
from collections import Counter
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from sre_agent.entries import Entry, Figures
from sre_agent.postmortem import draft

NOW = datetime(2026, 3, 29, 0, 30, tzinfo=UTC)
BERLIN = ZoneInfo("Europe/Berlin")
FIGURES = Figures(BERLIN, "Europe/Berlin", ("checkout", "mailer"), 12_345)
URL = "/sessions/01890000-0000-7000-8000-000000000001/?at=5#step-5"
RENDERED = MarkdownIt("gfm-like", {"linkify": False})


@dataclass(frozen=True)
class Incident:
    ref: str = "INC-1"
    title: str = "Checkout fails"
    status: str = "resolved"
    priority: int = 1
    summary: str = "It failed since 1.10.0.\nIt was rolled back."
    cause: str = "Release 1.10.0"
    opened_at: datetime = NOW
    mitigated_at: datetime | None = None
    resolved_at: datetime | None = NOW + timedelta(hours=1, minutes=2, seconds=3)


ACTION = Entry(
    at=NOW + timedelta(hours=1),
    actor="agent:SRE v1",
    kind="call",
    words="Roll checkout back (done)",
    command="kubectl -n shop rollout undo deployment/checkout",
    output='{"version": 4}',
    url=URL,
    approvers=("user:alice", "user:dave"),
    became="done",
    undo='roll_back {"release": "1.10.0"}',
)
ENTRIES = [
    Entry(NOW, "estate", "alert", "P1 ErrorsHigh of checkout fires"),
    ACTION,
    Entry(NOW + timedelta(hours=1), "agent:SRE v1", "verified", "service:checkout is sound.", url=URL, sound=True),
    Entry(NOW + timedelta(hours=1), "agent:SRE v1", "resolved", "It runs 1.9.0 again."),
]

DRAFT = r"""# Post-mortem: Checkout fails

A draft from the record of incident INC\-1. What people know beside it is theirs to add.

## Summary

> It failed since 1.10.0.
>
> It was rolled back.

## Impact

| | |
|---|---|
| Priority | P1 |
| Services | checkout, mailer |
| Began | 2026-03-29 01:30:00 +0100 |
| Mitigated | – |
| Ended | 2026-03-29 03:32:03 +0200 |
| Duration | 1 h 2 min 3 s |
| Failed requests | 12,345 |

## Timeline

| Time (Europe/Berlin) | Who | What | |
|---|---|---|---|
| 2026-03-29 01:30:00 +0100 | estate | P1 ErrorsHigh of checkout fires | |
| 2026-03-29 03:30:00 +0200 | agent\:SRE v1 | Roll checkout back (done) | [step](URL) |
| 2026-03-29 03:30:00 +0200 | agent\:SRE v1 | service\:checkout is sound. | [step](URL) |
| 2026-03-29 03:30:00 +0200 | agent\:SRE v1 | It runs 1.9.0 again. | |

## Actions

### 1. Roll checkout back (done)

At 2026-03-29 03:30:00 +0200; by agent\:SRE v1; allowed by: user\:alice, user\:dave.

Command:

```text
kubectl -n shop rollout undo deployment/checkout
```

Output:

```text
{"version": 4}
```

Taken back by:

```text
roll_back {"release": "1.10.0"}
```

## Verification

- 2026-03-29 03:30:00 +0200: service\:checkout is sound.

## Cause

> Release 1.10.0

## Remedy

> It runs 1.9.0 again.

## Evidence

- [step](URL) 2026-03-29 03:30:00 +0200: Roll checkout back (done)
- [step](URL) 2026-03-29 03:30:00 +0200: service\:checkout is sound.

## What nobody knows

Nothing that the record tells.

## Follow-ups

| What | Who | Until |
|---|---|---|
| | | |
| | | |
| | | |
""".replace("URL", URL)


def test_the_draft_tells_everything_in_the_zone_that_it_names() -> None:
    assert draft(Incident(), ENTRIES, FIGURES) == DRAFT


def test_the_same_record_gives_the_same_bytes() -> None:
    assert draft(Incident(), list(ENTRIES), replace(FIGURES)) == draft(Incident(), ENTRIES, FIGURES)


def test_what_nobody_knows_is_said() -> None:
    incident = Incident(status="escalated", summary="", cause="", resolved_at=None)
    unknown = replace(ACTION, words="Restart", became="not known whether it was done")
    unsound = Entry(NOW, "agent", "verified", "service:checkout: it fails.")
    text = draft(incident, [unknown, unsound], Figures(UTC, "UTC"))
    questions = text.partition("## What nobody knows\n\n")[2].partition("\n\n## ")[0]
    assert questions.splitlines() == [
        "- How it ends: the incident is escalated.",
        "- Why it came about.",
        "- How many requests failed.",
        "- Which services it concerned.",
        "- Whether this was done: Restart",
        "- Whether it helped: service\\:checkout\\: it fails.",
    ]
    assert "## Summary\n\nNobody has written one." in text
    assert "| Ended | not over (escalated) |" in text


def test_without_a_record_nothing_is_made_up() -> None:
    text = draft(Incident(), [], FIGURES)
    assert "## Timeline\n\nNothing is on record." in text
    assert "## Actions\n\nNothing was done." in text
    assert "## Verification\n\nNothing was verified." in text
    assert "## Remedy\n\nNone is on record." in text


HOSTILE = [
    "# Heading",
    "Heading\n===",
    "---",
    "```\n# out",
    "````\n~~~\n# out",
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<!-- hidden",
    "[click](https://evil.example)",
    "![image](https://evil.example/x.png)",
    "[click]: https://evil.example",
    "[click][1]\n\n[1]: javascript:alert(1)",
    "<https://evil.example>",
    "https://evil.example www.evil.example",
    "| a | b |\n|---|---|\n| c | d |",
    "a | b || c \\| d",
    "- item\n+ item\n1. item\n2) item",
    "> quoted",
    "    code",
    "**bold** _em_ ~~gone~~ `code`",
    "&lt;b&gt; &#60;b&#62; &amp;",
    "back\\slash \\[x](y) \\\\[x](y)",
    "\u202ereversed\u202c \u2066isolated\u2069 \u200bnothing\ufeff",
    "\x00\x07\x1b[31mred\x1b[0m",
    "line\u2028separator\u2029paragraph\x85next\x0bvertical",
    "\ud800 lone",
    "- [x] done",
    "",
]
LONG = ["x" * 20_000, "`" * 20_000, "[" * 20_000, "a\n" * 10_000]
MARKUP = re.compile(
    "[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)


def skeleton(text: str) -> list[tuple[str, str]]:
    """What a reader's program makes of it: every element but plain text, with the address of each link."""
    tokens = [token for token in flat(RENDERED.parse(text)) if token.type not in ("text", "softbreak")]
    return [(token.type, str(token.attrs.get("href", ""))) for token in tokens]


def flat(tokens: list[Token]) -> list[Token]:
    return [each for token in tokens for each in (token, *flat(token.children or []))]


def hostile(text: str) -> str:
    """A draft in which everything that comes from outside is ``text``."""
    entries = [
        Entry(NOW, text, "alert", text),
        replace(ACTION, actor=text, words=text, command=text or "x", output=text or "x", undo=text or "x",
                approvers=(text, text)),
        Entry(NOW, text, "verified", text, url=URL, sound=True),
        Entry(NOW, text, "resolved", text),
    ]  # fmt: skip
    incident = Incident(ref=text, title=text, summary=text, cause=text)
    return draft(incident, entries, replace(FIGURES, services=(text, text)))


PLAIN = Counter(kind for kind, _ in skeleton(hostile("words")))
STRUCTURE = ("heading_open", "fence", "table_open", "th_open", "td_open", "tr_open", "link_open")


def is_harmless(text: str) -> None:
    made = hostile(text)
    shape = skeleton(made)
    kinds = Counter(kind for kind, _ in shape)
    assert set(kinds) <= set(PLAIN)
    assert {href for kind, href in shape if kind == "link_open"} == {URL}
    assert {kind: kinds[kind] for kind in STRUCTURE} == {kind: PLAIN[kind] for kind in STRUCTURE}
    assert not MARKUP.search(made)
    assert hostile(text) == made
    assert len(made) < 250_000


@pytest.mark.parametrize("text", [*HOSTILE, *LONG], ids=lambda text: repr(text[:20]))
def test_nobodys_words_become_anything_but_words(text: str) -> None:
    is_harmless(text)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.sampled_from(HOSTILE) | st.text("\n\t *_`#<>[]()!|~&;:-+=.\\/1a\u202e\x00", max_size=40), max_size=4
    ).map("\n".join)
)
def test_no_mixture_of_them_does_either(text: str) -> None:
    is_harmless(text)


def test_what_was_said_can_still_be_read() -> None:
    text = "P1: <b> [a](b) `c` | 5 % * 2_000 \\ #1 & co. – www.shop.example"
    shown = html.unescape(re.sub("<[^>]+>", "", RENDERED.render(draft(Incident(summary=text), [], FIGURES))))
    assert text in shown
    fenced = draft(Incident(), [replace(ACTION, command="echo '```' # done\nls")], FIGURES)
    assert "````text\necho '```' # done\nls\n````" in fenced
