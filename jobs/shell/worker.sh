#!/bin/sh
# Runs a worker so that SIGTERM ends it when its job is done:  worker.sh PROGRAM [ARGUMENT...]
# RQ loses a SIGTERM that comes while Redis is away: it goes on trying to connect, through the whole grace period.
# A worker runs each job in a child, so one that has had no child for a while after SIGTERM has nothing to lose.
# RQ also loses the job that it takes when SIGTERM comes, so where PROGRAM is bench, it is started by rq_worker.py.
#
#   IDLE_SECONDS  how long it may be without a job, and not end (default 60: a Redis that restarts comes back)
set -u

idle_seconds=${IDLE_SECONDS:-60}
worker=

# Fields 3 and on of /proc/PID/stat: the name before them may hold blanks.
state_of() { sed 's/.*) //' "/proc/$1/stat" 2>/dev/null; }

is_alive() {
  case $(state_of "$worker") in
    '' | Z*) return 1 ;;
  esac
}

has_job() {
  for process in /proc/[0-9]*; do
    # shellcheck disable=SC2046  # the fields are words
    set -- $(state_of "${process#/proc/}")
    [ "${2:-}" != "$worker" ] || [ "$1" = Z ] || return 0
  done
  return 1
}

stop() {
  trap '' TERM INT
  kill -TERM "$worker" 2>/dev/null
  idle=0
  while is_alive; do
    sleep 1
    if has_job; then idle=0; else idle=$((idle + 1)); fi
    if [ "$idle" -ge "$idle_seconds" ]; then
      echo "app-operator: the worker has no job and does not end: it is killed" >&2
      kill -KILL "$worker"
    fi
  done
  wait "$worker"
  exit 0
}

if [ "${1:-}" = bench ]; then
  shift
  set -- "$PWD/env/bin/python" "${0%/*}/rq_worker.py" "$@"
fi
# A SIGTERM that comes before there is a worker ends this shell.
trap 'exit 0' TERM INT
"$@" &
worker=$!
trap stop TERM INT
wait "$worker"
