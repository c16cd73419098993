"""The text that a Secret of a user has for a password, a user name, a URL or a key.

One rule for all of them: see docs/users.md.
"""

import unicodedata

from job_result import JobError

BYTE_ORDER_MARK = "\ufeff"
CHARACTERS = {"\n": "a line break", "\r": "a line break", "\t": "a tab", "\0": "a NUL"}


def secret_text(value: bytes, source: str) -> str:
    """Without what editors and `echo` add: a byte order mark before it, a line break after it.

    Other control characters are refused. No message has any of the value.
    """
    try:
        text = value.decode()
    except UnicodeDecodeError:
        is_utf_16 = value.startswith((b"\xff\xfe", b"\xfe\xff"))
        problem = "is UTF-16 text" if is_utf_16 else "is not UTF-8 text"
        raise JobError("SecretInvalid", f"{source} {problem}; store it as UTF-8 text") from None
    text = text.removeprefix(BYTE_ORDER_MARK).removesuffix("\n")
    text = text.removesuffix("\r") if value.endswith(b"\r\n") else text
    control = next((one for one in text if unicodedata.category(one) == "Cc"), None)
    if control is not None:
        what = CHARACTERS.get(control, f"the control character U+{ord(control):04X}")
        raise JobError("SecretInvalid", f"{source} has {what} in its value; store it without")
    return text
