"""Leaves and what is declared for them."""

from agentops.policy.leaves import declared, leaves_of

DECLARED = {"items[].id": "id", "owner": "owner", "tags.*": "tag", "deep.a.b": "b"}


def test_leaves_have_the_paths_of_declarations() -> None:
    value = {"items": [{"id": 1}, {"id": 2, "more": None}], "owner": {"name": "Ann"}, "tags": {"x": True}, "n": 3}
    found = [(path, leaf, declared(path, DECLARED, "none")) for path, leaf in leaves_of(value)]
    assert found == [
        ("items[].id", 1, "id"),
        ("items[].id", 2, "id"),
        ("owner.name", "Ann", "owner"),
        ("tags.x", True, "tag"),
        ("n", 3, "none"),
    ]


def test_a_key_cannot_pass_for_a_path() -> None:
    hostile = {"items[].id": 7, "deep": {"a.b": 8}}
    assert [declared(path, DECLARED, "none") for path, _ in leaves_of(hostile)] == ["none", "none"]
