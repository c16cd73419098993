"""What the framework needs of the bench's Redis cache, and keys of it that are deleted there."""

from urllib.parse import urlsplit

from job_result import JobError, log
from redis_servers import connect, connection_problem

# The framework's list of bundles, which all sites of a bench share.
ASSETS_KEY = "assets_json"


def delete_asset_manifest(url: str) -> None:
    """The manifest is of the previous image. A cache that does not answer holds no manifest."""
    try:
        deleted = connect(url, 2, 2).delete(ASSETS_KEY)
    except Exception as error:
        print(
            f"{ASSETS_KEY} was not removed: no answer from the cache: {connection_problem(error)}"
        )
        return
    print(f"removed {ASSETS_KEY} from the cache" if deleted else f"the cache has no {ASSETS_KEY}")


def delete_site_keys(url: str, db_name: str) -> None:
    """Documents and sessions that the framework cached for the site's previous data."""
    cache = connect(url, 30, 5)
    for key in cache.scan_iter(match=f"{db_name}|*", count=1000):
        cache.delete(key)


def check_tracking(url: str, major: int) -> None:
    """Each request of version-16 fails where the cache has no CLIENT TRACKING, as before Redis 6.

    A cache that does not answer is not checked.
    """
    if major < 16:
        return
    try:
        refusal = _tracking_refusal(url)
    except Exception as error:
        problem = connection_problem(error)
        log(f"CLIENT TRACKING was not checked: no answer from the cache: {problem}")
        return
    if refusal:
        parts = urlsplit(url)
        raise JobError(
            "RedisUnsupported",
            f"redis_cache at {parts.hostname}:{parts.port or 6379}: version-{major} needs "
            f"Redis 6.2 or later with the command CLIENT TRACKING: {refusal}; "
            "use another server, or allow the command to the login",
        )


def _tracking_refusal(url: str) -> str | None:
    """What the server answers to the framework's commands; None if it carries them out."""
    from redis import exceptions

    with connect(url, 2, 2).client() as watcher, connect(url, 2, 2).client() as reader:
        try:
            command = ("CLIENT", "TRACKING", "ON", "REDIRECT", watcher.client_id(), "NOLOOP")
            reader.execute_command(*command)
        except exceptions.ResponseError as error:
            return str(error)
    return None
