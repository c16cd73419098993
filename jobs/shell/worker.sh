#!/bin/sh
# Runs a worker so that SIGTERM ends it after its current job:  worker.sh PROGRAM [ARGUMENT...]
# RQ ignores a SIGTERM while Redis is unreachable: it tries to connect until the grace period ends. A
# worker runs each job in a child process. So a worker without a child can be killed without losing a
# job. RQ also loses a job that it dequeues during SIGTERM: rq_worker.py therefore starts `bench`.
#
#   IDLE_SECONDS  how long a worker without a job may take to end (default 60: Redis may be restarting)
set -u

idle_seconds=${IDLE_SECONDS:-60}
worker=

# Fields 3 and following of /proc/PID/stat: the name before them may contain blanks.
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
      echo "app-operator: the worker has no job and does not end: killing it" >&2
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
# A SIGTERM before the worker is started ends this shell.
trap 'exit 0' TERM INT
"$@" &
worker=$!
trap stop TERM INT
wait "$worker"
