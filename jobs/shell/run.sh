#!/bin/sh
# Runs the scheduler or socketio so that SIGTERM ends it at once:  run.sh PROGRAM [ARGUMENT...]
# Neither handles SIGTERM, and PID 1 ignores a signal without a handler, until the grace period ends.
# As a child of this shell the program has the default action. A shared process namespace would also
# help, but the containers of a pod could read each other's environment in it.
#
#   OPERATOR_NODE_CA_FILE    an authority that Node.js trusts besides its own (optional), such as of Redis;
#                            NODE_EXTRA_CA_CERTS of a pod template wins
set -u

if [ -n "${OPERATOR_NODE_CA_FILE:-}" ]; then
  export NODE_EXTRA_CA_CERTS="${NODE_EXTRA_CA_CERTS:-$OPERATOR_NODE_CA_FILE}"
fi

# Set first: an early SIGTERM must find a handler.
trap 'trap "" TERM INT; kill -TERM "${!:-}" 2>/dev/null; wait; exit 0' TERM INT
"$@" &
wait "$!"
