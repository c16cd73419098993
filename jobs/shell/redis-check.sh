#!/bin/sh
# Probe of a server that redis.sh started:  redis-check.sh cache|queue live|ready
# `live` succeeds while the server loads its append-only file: a restart would only load it again. It
# also succeeds while the server cannot write that file: a restart frees no space, and loses data that
# is only in memory. REDIS_PASSWORD is passed to the client in its environment, not in arguments.
set -u
# shellcheck source=/dev/null
. "${0%/*}/constants.sh"

case ${1:-} in
  cache) port=${LISTEN_PORT:-$OPERATOR_REDIS_CACHE_PORT} ;;
  queue) port=${LISTEN_PORT:-$OPERATOR_REDIS_QUEUE_PORT} ;;
  *) echo 'usage: redis-check.sh cache|queue live|ready' >&2 && exit 2 ;;
esac

client=$(command -v redis-cli || command -v valkey-cli) || { echo 'the image has no redis-cli' >&2 && exit 2; }
answer=$(REDISCLI_AUTH=${REDIS_PASSWORD:-} "$client" --no-auth-warning -h 127.0.0.1 -p "$port" PING 2>&1)

case ${2:-ready}:$answer in
  *:PONG) exit 0 ;;
  live:LOADING* | live:MISCONF*) exit 0 ;;
esac
echo "$answer" >&2
exit 1
