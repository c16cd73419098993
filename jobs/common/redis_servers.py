"""The bench's two Redis servers, `redis_cache` and `redis_queue` of its common configuration."""

import time
from pathlib import Path
from typing import Any

from job_result import JobError, log
from operator_constants import COMMON_CONFIG_FILE
from site_records import read_common_config


def connect(url: str, timeout: float, connect_timeout: float, **options: Any) -> Any:
    import redis

    return redis.from_url(
        url, socket_timeout=timeout, socket_connect_timeout=connect_timeout, **options
    )


def redis_unreachable(key: str, error: Exception) -> JobError:
    return JobError("RedisUnreachable", f"{key}: {type(error).__name__}")


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
