"""Moves a site's background jobs in Redis aside while the site is closed, and back afterwards.

The keys are those of the rq package. While a site is closed its `bench_id` names queues without
workers. Jobs that are enqueued meanwhile, for example by a migration, wait in these queues. Redis
keeps them like all others, so no job is lost.
"""

import time

from job_environment import SiteLocation
from job_result import JobError, log
from operator_constants import QUEUE_KEY, QUEUES
from redis_servers import connect
from site_records import read_common_config

# KEYS: source, target. ARGV: the queue's name for the jobs ("" to keep theirs), prefixes of the
# job ids. The order of the jobs is kept.
MOVE = """
local moved = 0
local function is_of_site(id)
  for n = 2, #ARGV do
    if string.sub(id, 1, #ARGV[n]) == ARGV[n] then return true end
  end
end
for _, id in ipairs(redis.call('LRANGE', KEYS[1], 0, -1)) do
  if is_of_site(id) then
    redis.call('LREM', KEYS[1], 1, id)
    redis.call('RPUSH', KEYS[2], id)
    if ARGV[1] ~= '' and redis.call('EXISTS', 'rq:job:' .. id) == 1 then
      redis.call('HSET', 'rq:job:' .. id, 'origin', ARGV[1])
    end
    moved = moved + 1
  end
end
if moved > 0 then redis.call('SADD', 'rq:queues', KEYS[2]) end
return moved
"""


class SiteQueues:
    """The queues of one site. `prefix` is the `bench_id` that it has while it is open."""

    def __init__(self, location: SiteLocation, prefix: str | None) -> None:
        from redis.exceptions import RedisError

        common = read_common_config(location.sites)
        self.errors = RedisError
        self.redis = connect(common["redis_queue"], 30, 5, decode_responses=True)
        self.site = location.site_name
        # RQ 2 allows no colons in job ids.
        self.job_prefixes = (f"{self.site}::", f"{self.site}||")
        default_prefix = str(location.bench).strip("/").replace("/", "-")
        self.prefix: str = prefix or common.get("bench_id") or default_prefix
        self.closed_prefix = f"{self.prefix}.closed.{self.site}"

    def names(self, prefix: str) -> list[str]:
        """Names of all queues with this prefix, including queues that the bench defines."""
        start = f"{QUEUE_KEY}{prefix}:"
        keys = self.redis.smembers("rq:queues")
        known = {key.removeprefix(QUEUE_KEY) for key in keys if key.startswith(start)}
        return sorted(known | {f"{prefix}:{queue}" for queue in QUEUES})

    def move(self, source: str, target: str, origin: str = "") -> int:
        keys = (f"{QUEUE_KEY}{source}", f"{QUEUE_KEY}{target}")
        return int(self.redis.eval(MOVE, 2, *keys, origin, *self.job_prefixes))

    def set_aside(self) -> None:
        """Moves the site's waiting jobs out of the queues that have workers."""
        count = 0
        for source in self.names(self.prefix):
            count += self.move(source, self.closed_prefix + source[len(self.prefix) :])
        if count:
            log(f"set {count} waiting jobs aside")

    def put_back(self) -> None:
        """Moves the jobs that were set aside, or enqueued since, to the queues with workers."""
        count = 0
        for source in self.names(self.closed_prefix):
            target = self.prefix + source[len(self.closed_prefix) :]
            count += self.move(source, target, origin=target)
            self.redis.srem("rq:queues", f"{QUEUE_KEY}{source}")
        if count:
            log(f"put {count} jobs back")

    def running(self) -> list[str]:
        """Ids of the site's jobs that workers run. A killed worker's job has a lease that ends."""
        now = time.time()
        found: list[str] = []
        for name in self.names(self.prefix):
            # A job moves from the first list to the second: in this order it is in at least one.
            found += self.redis.lrange(f"{QUEUE_KEY}{name}:intermediate", 0, -1)
            for job, lease in self.redis.zrange(f"rq:wip:{name}", 0, -1, withscores=True):
                if lease <= 0 or lease > now:
                    found.append(job)
        return [job for job in found if job.startswith(self.job_prefixes)]

    def wait_until_idle(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while jobs := self.running():
            if time.monotonic() >= deadline:
                raise JobError(
                    "JobsRunning",
                    f"{len(jobs)} background jobs of {self.site} still run after {seconds} s",
                )
            log(f"waiting for {len(jobs)} running jobs")
            time.sleep(min(5, max(0.1, deadline - time.monotonic())))

    def has_workers(self) -> bool:
        return any(
            self.redis.exists(worker)
            for name in self.names(self.prefix)
            for worker in self.redis.smembers(f"rq:workers:{name}")
        )
