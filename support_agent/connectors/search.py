"""Full-text search of the knowledge base, with a score that says how much of the question an article covers."""

from uuid import UUID

from django.db import connection

from support_agent.connectors.records import Passage

MOST = 5
FEWEST_POINTS = 40
WHOLE_BODY = 800
# Stems that people wrap around any question; what the question is about is in the other words.
FILLERS = [
    *(
        "abl",
        "also",
        "ask",
        "could",
        "dear",
        "get",
        "give",
        "good",
        "hello",
        "help",
        "hey",
        "hi",
        "know",
        "let",
        "like",
    ),
    *("long", "look", "make", "mani", "may", "mean", "much", "need", "pleas", "possibl", "question", "say", "still"),
    *("take", "tell", "thank", "thing", "tri", "understand", "us", "want", "way", "wonder", "would"),
]

# A question is a bag of word stems, each as heavy as it is rare in this knowledge base; a stem that no
# article holds is the heaviest, so a question about something else scores low although it shares everyday
# words. The score is the share of the question's weight that an article holds, 0 to 100.
_SQL = """
WITH question AS (
    SELECT lexeme, ('''' || replace(replace(lexeme, '\\', '\\\\'), '''', '''''') || '''')::tsquery AS word
      FROM unnest(to_tsvector('english', %(query)s::text))
     WHERE lexeme <> ALL(%(fillers)s::text[]) LIMIT 64
), known AS (
    SELECT count(*)::float8 AS articles FROM support_agent_article WHERE tenant_id = %(tenant)s
), weighed AS (
    SELECT word, ln(1 + (known.articles + 1) / (1 + (
               SELECT count(*) FROM support_agent_article
                WHERE tenant_id = %(tenant)s AND search @@ word))) AS weight
      FROM question, known
), scored AS (
    SELECT article.id, round(100 * sum(weight) / (SELECT sum(weight) FROM weighed))::int AS score,
           sum(ts_rank(article.search, word)) AS rank
      FROM support_agent_article article JOIN weighed ON article.search @@ word
     WHERE article.tenant_id = %(tenant)s
     GROUP BY article.id
)
SELECT article.ref, article.title, scored.score,
       CASE WHEN length(article.body) <= %(whole)s THEN article.body
            ELSE ts_headline('english', article.body,
                             (SELECT string_agg(word::text, ' | ')::tsquery FROM question),
                             'StartSel="", StopSel="", MaxWords=90, MinWords=40, MaxFragments=2') END
  FROM scored JOIN support_agent_article article ON article.id = scored.id
 WHERE scored.score >= %(fewest)s
 ORDER BY scored.score DESC, scored.rank DESC, article.ref
 LIMIT %(most)s
"""


def search_articles(tenant_id: UUID, query: str) -> list[Passage]:
    """Return the passages that cover most of ``query``, best first, at most five; empty when nothing fits."""
    with connection.cursor() as cursor:
        cursor.execute(
            _SQL,
            {
                "tenant": tenant_id,
                "query": query,
                "fillers": FILLERS,
                "whole": WHOLE_BODY,
                "fewest": FEWEST_POINTS,
                "most": MOST,
            },
        )
        rows = cursor.fetchall()
    return [Passage(ref, title, text[:2000], score) for ref, title, score, text in rows]
