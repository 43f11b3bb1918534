"""The knowledge base: ranked, with passages, silent about what it does not cover."""

import pytest

from tests.factories.support import Shop, look, make_article, make_shop, make_tenant

pytestmark = pytest.mark.django_db

ARTICLES = {
    "KB-1": ("Returns", "Delivered items can be returned within 30 days. Opened headphones are taken back as well."),
    "KB-2": ("Shipping times", "Orders are shipped within two days. Express parcels arrive the next day."),
    "KB-3": (
        "Gift cards",
        "Gift cards never expire and cannot be turned into cash. The balance is shown in the profile.",
    ),
    "KB-4": ("Changing an order", "A pending order can be changed once. Items can be replaced by other variants."),
    "KB-5": ("Refunds", "Refunds of returned items go to the card that paid. A refund takes five to seven days."),
    "KB-6": ("Lamp care", "Wipe the lamp with a dry cloth. The bulb of the lamp can be replaced."),
}


@pytest.fixture
def shop() -> Shop:
    shop = make_shop()
    for ref, (title, body) in ARTICLES.items():
        make_article(shop.tenant, ref, title, body)
    return shop


def _found(shop: Shop, query: str) -> list[str]:
    return [row["id"] for row in look(shop.context(), "search_knowledge_base", query=query)["results"]]


@pytest.mark.parametrize(
    ("query", "best"),
    [
        ("opened headphones return", "KB-1"),
        ("Can I return opened headphones?", "KB-1"),
        ("how long does shipping take", "KB-2"),
        ("express parcel", "KB-2"),
        ("do gift cards expire", "KB-3"),
        ("turning a gift card into cash", "KB-3"),
        ("how long until my refund", "KB-5"),
        ("replace bulb", "KB-6"),
        ("RETURNING ITEMS", "KB-1"),
    ],
)
def test_the_article_that_covers_most_comes_first(shop: Shop, query: str, best: str) -> None:
    assert _found(shop, query)[0] == best


@pytest.mark.parametrize(
    "query",
    [
        "wholesale prices for schools",
        "warranty on mechanical keyboards",
        "vegan leather certificate",
        "the and of",
        "!?",
        "'\\:*&|",
    ],
)
def test_what_the_knowledge_base_does_not_cover_finds_nothing(shop: Shop, query: str) -> None:
    assert _found(shop, query) == []


def test_everyday_words_alone_do_not_answer_a_question_about_something_else(shop: Shop) -> None:
    assert _found(shop, "do you repair broken espresso machines ordered in another country") == []


def test_a_passage_comes_with_title_and_score(shop: Shop) -> None:
    assert look(shop.context(), "search_knowledge_base", query="gift cards expire") == {
        "results": [{"id": "KB-3", "title": "Gift cards", "passage": ARTICLES["KB-3"][1], "score": 100}]
    }


def test_scores_fall_and_the_title_breaks_ties(shop: Shop) -> None:
    make_article(shop.tenant, "KB-7", "Notes on parcels", "Nothing here speaks of refunds, only of wrapping paper.")
    make_article(shop.tenant, "KB-8", "Wrapping paper", "Parcels can be wrapped.")
    results = look(shop.context(), "search_knowledge_base", query="wrapping paper")["results"]
    assert [(row["id"], row["score"]) for row in results] == [("KB-8", 100), ("KB-7", 100)]


def test_a_long_article_gives_the_passage_that_was_meant(shop: Shop) -> None:
    filler = " ".join(f"Paragraph {number} is about nothing in particular." for number in range(200))
    make_article(shop.tenant, "KB-9", "Handbook", f"{filler} Umbrellas are insured against storms. {filler}")
    (row,) = look(shop.context(), "search_knowledge_base", query="insured umbrellas")["results"]
    assert row["id"] == "KB-9"
    assert "Umbrellas are insured against storms." in row["passage"]
    assert len(row["passage"]) <= 2000


def test_at_most_five_passages_are_returned(shop: Shop) -> None:
    for number in range(7):
        make_article(shop.tenant, f"KB-T{number}", f"Tents {number}", "Tents are waterproof.")
    assert _found(shop, "waterproof tents") == ["KB-T0", "KB-T1", "KB-T2", "KB-T3", "KB-T4"]


def test_articles_of_another_tenant_are_not_read(shop: Shop) -> None:
    make_article(make_tenant("south"), "KB-S", "Saunas", "Saunas are heated to ninety degrees.")
    assert _found(shop, "sauna heated degrees") == []


def test_an_edited_article_is_found_by_its_new_words(shop: Shop) -> None:
    article = make_article(shop.tenant, "KB-E", "Bicycles", "Bicycles have two wheels.")
    article.body = "Bicycles have bells."
    article.save()
    assert _found(shop, "bells") == ["KB-E"]
    assert _found(shop, "wheels") == []
