"""Times in RFC 3339 and UTC, to the second."""

from datetime import datetime, timezone


def rfc3339(moment: datetime) -> str:
    """The text of a moment in UTC."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def utc_now() -> str:
    return rfc3339(datetime.now(timezone.utc))
