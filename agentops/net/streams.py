"""Answers that are sent while they are made, so that a file of any length takes the memory of one part."""

from collections.abc import AsyncIterator, Iterator

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, StreamingHttpResponse


def streamed(
    request: HttpRequest, parts: Iterator[bytes], *, filename: str, content_type: str
) -> StreamingHttpResponse:
    """Return the parts as a file to be saved. ``filename`` is of the program's own making.

    An ASGI server gets each part made in the request's own thread: given a plain iterator it would first make all.
    """
    content = _apart(parts) if isinstance(request, ASGIRequest) else parts
    headers = {"Content-Disposition": f'attachment; filename="{filename}"', "X-Content-Type-Options": "nosniff"}
    return StreamingHttpResponse(content, content_type=content_type, headers=headers)


async def _apart(parts: Iterator[bytes]) -> AsyncIterator[bytes]:
    following = sync_to_async(lambda: next(parts, None), thread_sensitive=True)
    while (part := await following()) is not None:
        yield part
