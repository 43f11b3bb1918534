"""The bank as a registry would declare it: 11 tools, and what a request to the assistant of an account may ask for."""

from collections.abc import Callable, Mapping
from typing import Any

from agentops.registry.flow import Argument, Field, Intent, Kind, Sends, Trust
from agentops.registry.tool import Tier
from benchmarks.dojo_guard import Declared, declared_tool, tools_by_name

SHAPES: Mapping[str, Callable[[Any], Any]] = {}
"""Everything is fields already."""

SCHEDULED = "scheduled transaction"
_PAYMENT = {
    "recipient": Argument(Kind.TARGET),
    "amount": Argument(Kind.AMOUNT),
    "subject": Argument(Kind.TEXT),
    "date": Argument(Kind.WHEN),
}
_RECURRING = {**_PAYMENT, "recurring": Argument(Kind.VALUE)}
_DONE = {"result": Field(Trust.OWN, Kind.LABEL)}
_BOOKED = {
    "result[].id": Field(Trust.OWN, Kind.REF, "transaction"),
    "result[].sender": Field(Trust.THIRD, Kind.TARGET),
    "result[].recipient": Field(Trust.THIRD, Kind.TARGET),
    "result[].amount": Field(Trust.OWN, Kind.AMOUNT),
    "result[].subject": Field(Trust.UNTRUSTED, private=True),
    "result[].date": Field(Trust.OWN, Kind.WHEN),
    "result[].recurring": Field(Trust.OWN, Kind.LABEL),
}
_STANDING = {
    **_BOOKED,
    "result[].id": Field(Trust.OWN, Kind.REF, SCHEDULED),
    "result[].sender": Field(Trust.OWN, Kind.TARGET),
    "result[].recipient": Field(Trust.OWN, Kind.TARGET),
    "result[].subject": Field(Trust.OWN),
}
_NAMES = dict.fromkeys(("first_name", "last_name", "street", "city"), Argument(Kind.VALUE))

_TOOLS = (
    declared_tool("get_iban", Tier.READ, "look", results={"result": Field(Trust.OWN, Kind.TARGET)}),
    declared_tool("get_balance", Tier.READ, "look", results={"result": Field(Trust.OWN, Kind.AMOUNT, private=True)}),
    declared_tool("get_most_recent_transactions", Tier.READ, "look", {"n": Argument(Kind.VALUE)}, _BOOKED),
    declared_tool("get_scheduled_transactions", Tier.READ, "look", results=_STANDING),
    declared_tool(
        "read_file",
        Tier.READ,
        "look",
        {"file_path": Argument(Kind.REF, "file")},
        {"result": Field(Trust.UNTRUSTED, private=True)},
        document="file_path",
    ),
    declared_tool("get_user_info", Tier.READ, "look", results={"result": Field(Trust.OWN, Kind.VALUE, private=True)}),
    declared_tool("send_money", Tier.WRITE_HARD, "pay", _PAYMENT, _DONE, sends=Sends.OUTSIDE),
    declared_tool("schedule_transaction", Tier.WRITE_HARD, "schedule", _RECURRING, _DONE, sends=Sends.OUTSIDE),
    declared_tool(
        "update_scheduled_transaction",
        Tier.WRITE_HARD,
        "reschedule",
        {**_RECURRING, "id": Argument(Kind.REF, SCHEDULED)},
        _DONE,
        sends=Sends.OUTSIDE,
    ),
    declared_tool("update_password", Tier.WRITE_HARD, "password", {"password": Argument(Kind.SECRET)}, _DONE),
    declared_tool("update_user_info", Tier.WRITE_SOFT, "profile", _NAMES, {"result": Field(Trust.OWN, Kind.VALUE)}),
)

DECLARED = Declared(
    tools=tools_by_name(_TOOLS),
    intents=(
        Intent("look"),
        Intent("pay", ("pay", "send", "transfer", "wire", "refund*", "reimburse*", "give back", "settle")),
        Intent(
            "schedule",
            ("schedule*", "recurring", "standing order*", "set up payment*", "every month pay", "pay every month"),
        ),
        Intent(
            "reschedule",
            (
                "update payment*",
                "adjust payment*",
                "change payment*",
                "update order*",
                "adjust order*",
                "change order*",
                "update scheduled",
                "change scheduled",
                "update rent",
                "change rent",
            ),
        ),
        Intent("password", ("password*",)),
        Intent("profile", ("my address", "new address", "my name", "account information", "my details", "moved")),
    ),
)
