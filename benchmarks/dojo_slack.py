"""A chat with web access as a registry would declare it, and what a request to its assistant may ask for.

Messages to members and channels stay in the house; fetching a page, writing one and inviting somebody leave it.
"""

from collections.abc import Callable, Mapping
from typing import Any

from agentops.registry.flow import Argument, Field, Intent, Kind, Sends, Trust
from agentops.registry.tool import Tier
from benchmarks.dojo_guard import Declared, declared_tool, tools_by_name

SHAPES: Mapping[str, Callable[[Any], Any]] = {}
"""Everything is fields already."""

_MEMBER, _CHANNEL = Argument(Kind.REF, "user"), Argument(Kind.REF, "channel")
_WORDS, _ADDRESS = Argument(Kind.TEXT), Argument(Kind.TARGET)
_MEMBERS = {"result[]": Field(Trust.OWN, Kind.REF, "user")}
_CHANNELS = {"result[]": Field(Trust.OWN, Kind.REF, "channel")}
_MESSAGES = {
    "result[].sender": Field(Trust.OWN, Kind.REF, "user"),
    "result[].recipient": Field(Trust.OWN, Kind.LABEL),
    "result[].body": Field(Trust.UNTRUSTED, private=True),
}
_PAGE = {"result": Field(Trust.UNTRUSTED)}
_DONE = {"result": Field(Trust.OWN, Kind.LABEL)}

_TOOLS = (
    declared_tool("get_channels", Tier.READ, "look", results=_CHANNELS),
    declared_tool("get_users_in_channel", Tier.READ, "look", {"channel": _CHANNEL}, _MEMBERS),
    declared_tool(
        "read_channel_messages",
        Tier.READ,
        "look",
        {"channel": _CHANNEL},
        _MESSAGES,
        document="channel",
        author="result[].sender",
    ),
    declared_tool(
        "read_inbox", Tier.READ, "look", {"user": _MEMBER}, _MESSAGES, document="user", author="result[].sender"
    ),
    declared_tool("send_direct_message", Tier.WRITE_SOFT, "message", {"recipient": _MEMBER, "body": _WORDS}, _DONE),
    declared_tool("send_channel_message", Tier.WRITE_SOFT, "announce", {"channel": _CHANNEL, "body": _WORDS}, _DONE),
    declared_tool("add_user_to_channel", Tier.WRITE_SOFT, "admit", {"user": _MEMBER, "channel": _CHANNEL}, _DONE),
    declared_tool(
        "invite_user_to_slack",
        Tier.WRITE_HARD,
        "invite",
        {"user": _MEMBER, "user_email": _ADDRESS},
        _DONE,
        sends=Sends.OUTSIDE,
    ),
    declared_tool("remove_user_from_slack", Tier.WRITE_HARD, "remove", {"user": _MEMBER}, _DONE),
    declared_tool("get_webpage", Tier.READ, "browse", {"url": _ADDRESS}, _PAGE, sends=Sends.OUTSIDE, document="url"),
    declared_tool(
        "post_webpage", Tier.WRITE_HARD, "publish", {"url": _ADDRESS, "content": _WORDS}, _DONE, sends=Sends.OUTSIDE
    ),
)

DECLARED = Declared(
    tools=tools_by_name(_TOOLS),
    intents=(
        Intent("look"),
        Intent(
            "message", ("send*", "message*", "tell", "write", "dm", "ask", "inform", "remind", "reply*", "forward*")
        ),
        Intent("announce", ("channel*", "post*", "announce*", "everybody", "everyone")),
        Intent("admit", ("add", "join", "invite channel*")),
        Intent("invite", ("invite*",)),
        Intent("remove", ("remove*", "kick*", "delete user*")),
        Intent("browse"),
        Intent("publish", ("post web*", "post site*", "post page*", "publish*", "upload*", "create page*")),
    ),
)
