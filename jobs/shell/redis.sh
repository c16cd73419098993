#!/bin/sh
# Starts one of the bench's two Redis servers. POSIX sh: the image may have no bash.
#
#   redis.sh cache   evicts the least recently used keys, persists nothing
#   redis.sh queue   never evicts, persists every job in an append-only file
#
#   REDIS_PASSWORD   required; written to a file that only this user can read, not to arguments
#   REDIS_MAXMEMORY  bytes for data (optional; a Redis size such as 256mb is accepted too): then the cache
#                    evicts, and the queue takes no more jobs
#   REDIS_RUN_DIR    a writable directory for the configuration
#   REDIS_DATA_DIR   the queue's volume
#   LISTEN_PORT      another port, for tests
set -eu
# shellcheck source=/dev/null
. "${0%/*}/constants.sh"
# shellcheck source=/dev/null
. "${0%/*}/die.sh"

role=${1:-}
run_dir=${REDIS_RUN_DIR:-$OPERATOR_REDIS_RUN_DIR}
data_dir=${REDIS_DATA_DIR:-$OPERATOR_REDIS_DATA_DIR}
password=${REDIS_PASSWORD:-}

[ -n "$password" ] || die InvalidInput "REDIS_PASSWORD is empty: a Redis server without a password is not started"
case $password in
  *[[:cntrl:]]*) die InvalidInput "REDIS_PASSWORD contains a control character" ;;
esac
case ${REDIS_MAXMEMORY:-0} in
  *[!0-9a-zA-Z]*) die InvalidInput "REDIS_MAXMEMORY must be a number of bytes" ;;
esac
case ${LISTEN_PORT:-0} in
  *[!0-9]*) die InvalidInput "LISTEN_PORT must be a number" ;;
esac

server=$(command -v redis-server || command -v valkey-server) || die ProgramMissing "the image has no redis-server"
version=$("$server" --version | sed -n 's/.* v=\([0-9]*\.[0-9]*\).*/\1/p')
case $version in
  # They refuse the address below, and version-16 of the framework needs commands of Redis 6.
  [0-5].* | 6.[01]) die RedisUnsupported "the image has Redis $version: set redisConfig.image to 6.2 or later" ;;
esac

umask 077
mkdir -p "$run_dir" || die VolumeNotWritable "$run_dir cannot be created"
config=$run_dir/$role.conf

common() {
  echo "port ${LISTEN_PORT:-$1}"
  echo 'bind * -::*'
  echo 'protected-mode no'
  echo 'daemonize no'
  echo 'tcp-keepalive 60'
  echo 'save ""'
  # shellcheck disable=SC1003
  printf 'requirepass "%s"\n' "$(printf '%s' "$password" | sed 's/[\\"]/\\&/g')"
}

case $role in
  cache)
    {
      common "$OPERATOR_REDIS_CACHE_PORT"
      echo "dir $run_dir"
      echo 'appendonly no'
      echo 'maxmemory-policy allkeys-lru'
      [ -z "${REDIS_MAXMEMORY:-}" ] || echo "maxmemory $REDIS_MAXMEMORY"
    } >"$config"
    ;;
  queue)
    [ -w "$data_dir" ] || die VolumeNotWritable "$data_dir is not writable: the queue would lose its jobs"
    {
      common "$OPERATOR_REDIS_QUEUE_PORT"
      echo "dir $data_dir"
      echo 'appendonly yes'
      echo 'appendfsync everysec'
      echo 'maxmemory-policy noeviction'
      [ -z "${REDIS_MAXMEMORY:-}" ] || echo "maxmemory $REDIS_MAXMEMORY"
    } >"$config"
    ;;
  *) die InvalidInput "usage: redis.sh cache|queue" ;;
esac

unset REDIS_PASSWORD password
exec "$server" "$config"
