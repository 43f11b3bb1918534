"""The office as a registry would declare it: mail, calendar and files, and what a request to the assistant may ask for.

Who may put text into it: anybody can write a mail or an invitation, and files are written by several people. The house
itself keeps the directory of contacts, the numbers of records, times and sizes.
"""

from collections.abc import Callable, Mapping
from typing import Any

from agentops.registry.flow import Argument, Field, Intent, Kind, Sends, Trust
from agentops.registry.tool import Tier, ToolSpec
from benchmarks.dojo_guard import Declared, declared_tool, tools_by_name

SHAPES: Mapping[str, Callable[[Any], Any]] = {}
"""Everything is fields already."""

_WORDS = Argument(Kind.TEXT)
_TIME = Argument(Kind.WHEN)
_SEARCH = Argument(Kind.LABEL)
_CONTACT = Argument(Kind.TARGET, "contact")
_EVENT = Argument(Kind.REF, "event")
_MAIL = Argument(Kind.REF, "email")
_FILE = Argument(Kind.REF, "file")


def _under(path: str, fields: Mapping[str, Field]) -> dict[str, Field]:
    return {f"{path}.{name}": field for name, field in fields.items()}


_BY_OTHERS = Field(Trust.UNTRUSTED, private=True)
_EVENT_FIELDS = {
    "id_": Field(Trust.OWN, Kind.REF, "event"),
    "title": _BY_OTHERS,
    "description": _BY_OTHERS,
    "location": _BY_OTHERS,
    "start_time": Field(Trust.OWN, Kind.WHEN),
    "end_time": Field(Trust.OWN, Kind.WHEN),
    "participants[]": Field(Trust.OWN, Kind.TARGET, "contact"),
    "all_day": Field(Trust.OWN, Kind.LABEL),
    "status": Field(Trust.OWN, Kind.LABEL),
}
_MAIL_FIELDS = {
    "id_": Field(Trust.OWN, Kind.REF, "email"),
    "sender": Field(Trust.THIRD, Kind.TARGET),
    "recipients[]": Field(Trust.THIRD, Kind.TARGET),
    "cc[]": Field(Trust.THIRD, Kind.TARGET),
    "bcc[]": Field(Trust.THIRD, Kind.TARGET),
    "subject": _BY_OTHERS,
    "body": _BY_OTHERS,
    "attachments[]": _BY_OTHERS,
    "timestamp": Field(Trust.OWN, Kind.WHEN),
    "status": Field(Trust.OWN, Kind.LABEL),
    "read": Field(Trust.OWN, Kind.LABEL),
}
_SENT_TO = dict.fromkeys(("sender", "recipients[]", "cc[]", "bcc[]"), Field(Trust.OWN, Kind.TARGET))
_SENT_FIELDS = {**_MAIL_FIELDS, **_SENT_TO}
_FILE_FIELDS = {
    "id_": Field(Trust.OWN, Kind.REF, "file"),
    "filename": Field(Trust.OWN),
    "content": _BY_OTHERS,
    "owner": Field(Trust.OWN, Kind.TARGET, "contact"),
    "shared_with": Field(Trust.OWN, Kind.LABEL),
    "last_modified": Field(Trust.OWN, Kind.WHEN),
    "size": Field(Trust.OWN, Kind.VALUE),
}
_EVENTS, _AN_EVENT = _under("result[]", _EVENT_FIELDS), _under("result", _EVENT_FIELDS)
_MAILS = _under("result[]", _MAIL_FIELDS)
_SENT, _A_SENT = _under("result[]", _SENT_FIELDS), _under("result", _SENT_FIELDS)
_FILES, _A_FILE = _under("result[]", _FILE_FIELDS), _under("result", _FILE_FIELDS)
_CONTACTS = {
    "result[].email": Field(Trust.OWN, Kind.TARGET, "contact"),
    "result[].name": Field(Trust.OWN),
}
_DONE = {"result": Field(Trust.OWN, Kind.LABEL)}

SEND_EMAIL = declared_tool(
    "send_email",
    Tier.WRITE_HARD,
    "mail",
    {
        "recipients[]": _CONTACT,
        "cc[]": _CONTACT,
        "bcc[]": _CONTACT,
        "subject": _WORDS,
        "body": _WORDS,
        "attachments[].type": Argument(Kind.LABEL),
        "attachments[].file_id": _FILE,
        "attachments[].event_details": _WORDS,
    },
    _A_SENT,
    sends=Sends.OUTSIDE,
)
CREATE_EVENT = declared_tool(
    "create_calendar_event",
    Tier.WRITE_SOFT,
    "event",
    {
        "title": _WORDS,
        "description": _WORDS,
        "location": _WORDS,
        "start_time": _TIME,
        "end_time": _TIME,
        "participants[]": _CONTACT,
    },
    _AN_EVENT,
    sends=Sends.OUTSIDE,
)
SEARCH_EVENTS = declared_tool("search_calendar_events", Tier.READ, "look", {"query": _SEARCH, "date": _TIME}, _EVENTS)
DAY_EVENTS = declared_tool("get_day_calendar_events", Tier.READ, "look", {"day": _TIME}, _EVENTS)
CANCEL_EVENT = declared_tool(
    "cancel_calendar_event", Tier.WRITE_HARD, "cancel event", {"event_id": _EVENT}, _DONE, sends=Sends.OUTSIDE
)
OFFICE_INTENTS = (
    Intent("look"),
    Intent("mail", ("send*", "forward*", "reply*", "write email*", "write mail*")),
    Intent(
        "event",
        (
            "create event*",
            "create meeting*",
            "create calendar",
            "new event*",
            "new meeting*",
            "add calendar",
            "schedule*",
        ),
    ),
    Intent("cancel event", ("cancel*", "delete event*", "delete meeting*", "remove event*", "remove meeting*")),
)

_MAIL_TOOLS: tuple[ToolSpec, ...] = (
    SEND_EMAIL,
    declared_tool("delete_email", Tier.WRITE_HARD, "delete mail", {"email_id": _MAIL}, _DONE),
    declared_tool("get_unread_emails", Tier.READ, "look", results=_MAILS),
    declared_tool("get_received_emails", Tier.READ, "look", results=_MAILS),
    declared_tool("get_sent_emails", Tier.READ, "look", results=_SENT),
    declared_tool("get_draft_emails", Tier.READ, "look", results=_SENT),
    declared_tool("search_emails", Tier.READ, "look", {"query": _SEARCH, "sender": _SEARCH}, _MAILS),
    declared_tool("search_contacts_by_name", Tier.READ, "look", {"query": _SEARCH}, _CONTACTS),
    declared_tool("search_contacts_by_email", Tier.READ, "look", {"query": _SEARCH}, _CONTACTS),
)
_CALENDAR_TOOLS: tuple[ToolSpec, ...] = (
    declared_tool("get_current_day", Tier.READ, "look", results={"result": Field(Trust.OWN, Kind.WHEN)}),
    SEARCH_EVENTS,
    DAY_EVENTS,
    CREATE_EVENT,
    CANCEL_EVENT,
    declared_tool(
        "reschedule_calendar_event",
        Tier.WRITE_SOFT,
        "move event",
        {"event_id": _EVENT, "new_start_time": _TIME, "new_end_time": _TIME},
        _AN_EVENT,
        sends=Sends.OUTSIDE,
    ),
    declared_tool(
        "add_calendar_event_participants",
        Tier.WRITE_SOFT,
        "invite",
        {"event_id": _EVENT, "participants[]": _CONTACT},
        _AN_EVENT,
        sends=Sends.OUTSIDE,
    ),
)
_DRIVE_TOOLS: tuple[ToolSpec, ...] = (
    declared_tool("list_files", Tier.READ, "look", results=_FILES),
    declared_tool("search_files", Tier.READ, "look", {"query": _SEARCH}, _FILES),
    declared_tool("search_files_by_filename", Tier.READ, "look", {"filename": _SEARCH}, _FILES),
    declared_tool("get_file_by_id", Tier.READ, "look", {"file_id": _FILE}, _A_FILE, document="file_id"),
    declared_tool("create_file", Tier.WRITE_SOFT, "create file", {"filename": _WORDS, "content": _WORDS}, _A_FILE),
    declared_tool("append_to_file", Tier.WRITE_SOFT, "write file", {"file_id": _FILE, "content": _WORDS}, _A_FILE),
    declared_tool("delete_file", Tier.WRITE_HARD, "delete file", {"file_id": _FILE}, _A_FILE),
    declared_tool(
        "share_file",
        Tier.WRITE_HARD,
        "share file",
        {"file_id": _FILE, "email": _CONTACT, "permission": Argument(Kind.ROLE)},
        _A_FILE,
        sends=Sends.OUTSIDE,
    ),
)

DECLARED = Declared(
    tools=tools_by_name((*_MAIL_TOOLS, *_CALENDAR_TOOLS, *_DRIVE_TOOLS)),
    intents=(
        *OFFICE_INTENTS,
        Intent("delete mail", ("delete email*", "delete mail*", "remove email*", "remove mail*")),
        Intent("move event", ("reschedule*", "move event*", "move meeting*", "postpone*")),
        Intent("invite", ("add participant*", "invite*")),
        Intent("create file", ("create file*", "create document*", "new file*", "new document*")),
        Intent("write file", ("add file*", "add document*", "add list*", "append*", "write into file*")),
        Intent("delete file", ("delete file*", "delete document*", "remove file*", "remove document*")),
        Intent("share file", ("share",)),
    ),
    words={("share_file", "permission"): {"r": "read", "rw": "read and write"}},
)
