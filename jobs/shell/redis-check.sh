#!/bin/sh
# Probe of a server that redis.sh started:  redis-check.sh cache|queue live|ready
# `live` passes while the server loads its append-only file: killing it then would only start the load again. It passes, too,
# while the server cannot write it: no new start makes room, and what it has in memory only would be lost.
# REDIS_PASSWORD reaches the client through its environment, never through arguments.
set -u

case ${1:-} in
  cache) port=${LISTEN_PORT:-6379} ;;
  queue) port=${LISTEN_PORT:-6380} ;;
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
