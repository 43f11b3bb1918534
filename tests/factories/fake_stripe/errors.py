"""What the API answers when it does not do what is asked: https://docs.stripe.com/api/errors."""

from typing import Any


class ApiError(Exception):
    """An error in Stripe's shape. ``executed`` errors are kept under the idempotency key, those of the form are not."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        kind: str = "invalid_request_error",
        code: str | None = None,
        param: str | None = None,
        executed: bool = False,
        headers: dict[str, str] | None = None,
        **more: Any,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.executed = executed
        self.headers = headers or {}
        given = {"code": code, "param": param, **more}
        self.body = {
            "error": {
                "message": message,
                "type": kind,
                **{name: value for name, value in given.items() if value is not None},
            }
        }


def invalid(message: str, param: str | None = None, code: str | None = None) -> ApiError:
    """Return the refusal of a parameter: nothing was executed."""
    return ApiError(400, message, param=param, code=code)


def refused(message: str, code: str | None = None, param: str | None = None) -> ApiError:
    """Return the refusal of what the objects do not allow now: the endpoint was executed."""
    return ApiError(400, message, code=code, param=param, executed=True)


def no_such(what: str, ref: str, param: str = "id", *, elsewhere: str | None = None) -> ApiError:
    """Return the error for an object that does not exist; ``elsewhere`` is the mode that has a similar one."""
    words = f"No such {what}: '{ref}'"
    if elsewhere:
        used = "test" if elsewhere == "live" else "live"
        words += f"; a similar object exists in {elsewhere} mode, but a {used} mode key was used to make this request."
    return ApiError(404 if param == "id" else 400, words, code="resource_missing", param=param)


def declined(message: str, code: str, decline_code: str | None, **more: Any) -> ApiError:
    """Return the answer of an issuer that does not pay."""
    return ApiError(402, message, kind="card_error", code=code, decline_code=decline_code, executed=True, **more)
