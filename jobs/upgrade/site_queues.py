"""A site's background jobs in Redis, by the keys of the rq package: set aside while the site is closed, put back afterwards.

While a site is closed its `bench_id` names queues that no worker listens to, so that what enqueues for it meanwhile, a
migration too, leaves its jobs there. Nothing is lost: these are real queues, kept like the others.
"""

import time

from site_common import Refused, read_json, say

QUEUES = ("default", "short", "long")

# KEYS: from, to. ARGV: the queue's name that the jobs get ("" for none), beginnings of the job ids. Order is kept.
MOVE = """
local moved = 0
local function is_mine(id)
  for n = 2, #ARGV do
    if string.sub(id, 1, #ARGV[n]) == ARGV[n] then return true end
  end
end
for _, id in ipairs(redis.call('LRANGE', KEYS[1], 0, -1)) do
  if is_mine(id) then
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

    def __init__(self, settings, prefix):
        import redis

        common = read_json(settings.sites / "common_site_config.json")
        self.errors = redis.exceptions.RedisError
        self.redis = redis.from_url(common["redis_queue"], socket_timeout=30, socket_connect_timeout=5, decode_responses=True)
        self.site = settings.site_name
        # RQ 2 allows no colons in the ids of jobs.
        self.ids = (f"{self.site}::", f"{self.site}||")
        self.prefix = prefix or common.get("bench_id") or str(settings.bench).strip("/").replace("/", "-")
        self.aside = f"{self.prefix}.closed.{self.site}"

    def names(self, prefix):
        """Names of all queues with that prefix, those of the bench's own making too."""
        start = f"rq:queue:{prefix}:"
        known = {key[len("rq:queue:"):] for key in self.redis.smembers("rq:queues") if key.startswith(start)}
        return sorted(known | {f"{prefix}:{queue}" for queue in QUEUES})

    def move(self, source, target, origin=""):
        moved = self.redis.eval(MOVE, 2, f"rq:queue:{source}", f"rq:queue:{target}", origin, *self.ids)
        return int(moved)

    def set_aside(self):
        """Takes the site's waiting jobs out of the queues that workers listen to."""
        pairs = [(name, self.aside + name[len(self.prefix):]) for name in self.names(self.prefix)]
        if count := sum(self.move(source, target) for source, target in pairs):
            say(f"set {count} waiting jobs aside")

    def put_back(self):
        """Gives the jobs that were set aside, and those that came meanwhile, to the workers again."""
        count = 0
        for source in self.names(self.aside):
            target = self.prefix + source[len(self.aside):]
            count += self.move(source, target, origin=target)
            self.redis.srem("rq:queues", f"rq:queue:{source}")
        if count:
            say(f"put {count} jobs back")

    def running(self):
        """Ids of the site's jobs that a worker has in hand. One whose worker was killed counts until its lease ends."""
        now, found = time.time(), []
        for name in self.names(self.prefix):
            # In the order in which a job goes: one that moves between the two reads is in both, and not in neither.
            found += self.redis.lrange(f"rq:queue:{name}:intermediate", 0, -1)
            for member, lease in self.redis.zrange(f"rq:wip:{name}", 0, -1, withscores=True):
                if lease <= 0 or lease > now:
                    found.append(member)
        return [member for member in found if member.startswith(self.ids)]

    def wait_until_idle(self, seconds):
        deadline = time.monotonic() + seconds
        while jobs := self.running():
            if time.monotonic() >= deadline:
                raise Refused("JobsRunning", f"{len(jobs)} background jobs of {self.site} have not ended within {seconds} s")
            say(f"waiting for {len(jobs)} running jobs")
            time.sleep(min(5, max(0.1, deadline - time.monotonic())))

    def has_workers(self):
        """Whether workers listen to the queues."""
        for name in self.names(self.prefix):
            for worker in self.redis.smembers(f"rq:workers:{name}"):
                if self.redis.exists(worker):
                    return True
        return False
