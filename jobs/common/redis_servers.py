"""The bench's two Redis servers, `redis_cache` and `redis_queue` of its common configuration."""

import ssl
import time
from pathlib import Path
from typing import Any

from job_result import JobError, log
from operator_constants import COMMON_CONFIG_FILE
from site_records import read_common_config

# OpenSSL's codes of a certificate that is not accepted.
EXPIRED_CODES = (9, 10)
HOST_CODES = (62, 64)


def connect(url: str, timeout: float, connect_timeout: float, **options: Any) -> Any:
    import redis

    return redis.from_url(
        url, socket_timeout=timeout, socket_connect_timeout=connect_timeout, **options
    )


def redis_unreachable(key: str, error: Exception) -> JobError:
    return JobError("RedisUnreachable", f"{key}: {connection_problem(error)}")


def connection_problem(error: BaseException) -> str:
    """Why a server does not answer, in words that have nothing of its URL."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return certificate_problem(cause)
        if isinstance(cause, ssl.SSLError):
            return f"no encrypted connection: {cause.reason or 'the server ended the handshake'}"
        if isinstance(cause, OSError) and cause.strerror:
            return cause.strerror[:1].lower() + cause.strerror[1:]
        cause = cause.__cause__ or cause.__context__
    return type(error).__name__


def certificate_problem(error: ssl.SSLCertVerificationError) -> str:
    what = error.verify_message
    if error.verify_code in HOST_CODES:
        return f"the server's certificate is of another host: {what}; use a host name of it"
    if error.verify_code in EXPIRED_CODES:
        return f"the server's certificate is not valid now: {what}; renew it"
    return (
        f"the authority of the server's certificate is not trusted: {what}; give its certificate "
        "in redisConfig.external.caSecretRef"
    )


def wait_for_redis(sites: Path, wait_seconds: float) -> None:
    common = read_common_config(sites)
    deadline = time.monotonic() + wait_seconds
    for key in ("redis_cache", "redis_queue"):
        url = common.get(key)
        if not url:
            raise JobError(
                "BenchNotInitialized",
                f"{COMMON_CONFIG_FILE} has no {key}: the bench's init Job has not run",
            )
        while problem := redis_problem(key, url):
            if time.monotonic() >= deadline:
                raise problem
            log(f"waiting for Redis: {problem.reason}: {problem}")
            time.sleep(2)


def redis_problem(key: str, url: str) -> JobError | None:
    import redis

    try:
        connect(url, 5, 5).ping()
        return None
    except redis.exceptions.BusyLoadingError as error:
        return JobError("RedisUnreachable", f"{key}: {error}")
    except (redis.exceptions.AuthenticationError, redis.exceptions.ResponseError) as error:
        return JobError("RedisAccessDenied", f"{key}: {error}")
    except (redis.exceptions.RedisError, OSError) as error:
        return redis_unreachable(key, error)
