#!/bin/sh
# Runs the scheduler or socketio so that SIGTERM ends it at once:  run.sh PROGRAM [ARGUMENT...]
# Neither handles SIGTERM, and a process without a handler ignores it as PID 1: it would use up the whole grace period.
# As a child of this shell the default action applies. It needs no shared process namespace, in which the containers
# of a pod could read each other's environment.
set -u

# Set first: a SIGTERM that comes at once must not find this shell without a handler.
trap 'trap "" TERM INT; kill -TERM "${!:-}" 2>/dev/null; wait; exit 0' TERM INT
"$@" &
wait "$!"
