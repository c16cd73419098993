"""TEST CODE: the framework's errors, with the HTTP status that each answers with."""


class ValidationError(Exception):
    http_status_code = 417


class SiteNotSpecifiedError(Exception):
    def __init__(self):
        super().__init__("Please specify --site sitename")


class IncorrectSitePath(Exception):
    """No site_config.json below `sites/`: 404 in the web, exit code 1 on the command line."""


class AuthenticationError(Exception):
    http_status_code = 401


class PermissionError(Exception):
    http_status_code = 403


class DoesNotExistError(ValidationError):
    http_status_code = 404


class SessionStopped(Exception):
    http_status_code = 503


class InReadOnlyMode(ValidationError):
    http_status_code = 503


class AppNotInstalledError(ValidationError):
    pass


class CommandFailedError(Exception):
    def __init__(self, message, out, err):
        super().__init__(message)
        self.out, self.err = out, err


class InvalidDatabaseFile(ValidationError):
    pass


class LockTimeoutError(Exception):
    pass


class MandatoryError(ValidationError):
    pass


class LinkValidationError(ValidationError):
    pass


class CannotChangeConstantError(ValidationError):
    pass


class CharacterLengthExceededError(ValidationError):
    pass


class InvalidEmailAddressError(ValidationError):
    pass


class TimestampMismatchError(ValidationError):
    pass


class UniqueValidationError(ValidationError):
    pass


class NameError(Exception):
    http_status_code = 409


class DuplicateEntryError(NameError):
    pass
