#!/bin/sh
# Runs nginx as the container's process, and reloads it when the mounted ConfigMap changes.
#
# The configuration is copied from CONF_DIR into RUN_DIR/conf only when `nginx -t` accepts it: a broken one is
# reported and the last good one stays, over a restart of the container too. Nothing in /etc/nginx is used.
#
#   CONF_DIR     the mounted ConfigMap (default /etc/app-operator/nginx)
#   RUN_DIR      a writable directory: configuration in use, pid, temporary files (default /run/nginx)
#   RESOLV_CONF  default /etc/resolv.conf
#   RESOLVER     nginx resolver addresses; default: the name servers of RESOLV_CONF
#   STOP_SECONDS on SIGTERM, seconds for requests in flight before the fast stop (default 20)
set -u

# Set first: a SIGTERM that comes at once must not find this shell without a handler. It is obeyed below.
stopping=
trap 'stopping=yes' TERM INT QUIT

conf_dir=${CONF_DIR:-/etc/app-operator/nginx}
run_dir=${RUN_DIR:-/run/nginx}
resolv_conf=${RESOLV_CONF:-/etc/resolv.conf}
stop_seconds=${STOP_SECONDS:-20}
nginx_pid=

say() { echo "app-operator: $*" >&2; }

die() {
  say "$1: $2"
  log=${TERMINATION_LOG:-/dev/termination-log}
  if [ -n "${TERMINATION_LOG:-}" ] || [ -e "$log" ]; then
    echo "app-operator: $1: $2" 2>/dev/null >"$log" || true
  fi
  exit 1
}

# nginx logs to the pid's standard error before it has read its configuration; -e came with 1.19.5.
run_nginx() {
  if nginx -h 2>&1 | grep -q -- '-e filename'; then
    set -- -e stderr "$@"
  fi
  exec nginx -p "$run_dir/" "$@"
}

# A kubelet swaps ..data for each new version; without it (a plain directory) the content is compared.
version_of() {
  readlink "$conf_dir/..data" 2>/dev/null || cat "$conf_dir"/*.conf 2>/dev/null | cksum
}

write_resolver() {
  addresses=${RESOLVER:-}
  if [ -z "$addresses" ]; then
    while read -r word address _; do
      [ "$word" = nameserver ] || continue
      case $address in
        *%*) continue ;; # a link-local zone: nginx has no way to write it
        *:*) addresses="$addresses [$address]" ;;
        ?*) addresses="$addresses $address" ;;
      esac
    done <"$resolv_conf"
  fi
  if [ -n "$addresses" ]; then
    echo "resolver $addresses valid=10s;" >"$1"
  else
    say "NoResolver: $resolv_conf names no server: only backends given by address can be reached"
    : >"$1"
  fi
}

# Puts the mounted configuration into use if nginx accepts it.
take_config() {
  next=$run_dir/conf.next
  rm -rf "$next" && mkdir -p "$next" || return 1
  cp -L "$conf_dir"/*.conf "$next"/ || return 1
  # A node without IPv6 could not listen on it; one with nothing else must.
  [ -e /proc/net/if_inet6 ] || sed -i '/listen \[::\]/d' "$next/nginx.conf"
  write_resolver "$next/resolver.conf" || return 1
  (run_nginx -t -q -c "$next/nginx.conf") || return 1
  rm -rf "$run_dir/conf.old"
  [ ! -d "$run_dir/conf" ] || mv "$run_dir/conf" "$run_dir/conf.old"
  mv "$next" "$run_dir/conf"
}

watch() {
  seen=$1
  while sleep 1; do
    now=$(version_of)
    [ "$now" != "$seen" ] || continue
    if take_config; then
      kill -HUP "$nginx_pid" || return
      say "Reloaded: nginx took the new configuration"
    else
      say "InvalidConfiguration: nginx refused the new configuration; the last good one stays in use"
    fi
    seen=$now
  done
}

stop() {
  trap '' TERM INT QUIT
  kill "$watcher_pid" 2>/dev/null
  kill -QUIT "$nginx_pid" 2>/dev/null
  (
    sleep "$stop_seconds"
    kill -TERM "$nginx_pid" 2>/dev/null
  ) &
  killer_pid=$!
  wait "$nginx_pid"
  kill "$killer_pid" 2>/dev/null
  exit 0
}

umask 027
mkdir -p "$run_dir" || die VolumeNotWritable "$run_dir cannot be made"
# A container killed between two renames left the last good one here.
[ -d "$run_dir/conf" ] || [ ! -d "$run_dir/conf.old" ] || mv "$run_dir/conf.old" "$run_dir/conf"

seen_version=$(version_of)
if ! take_config; then
  [ -f "$run_dir/conf/nginx.conf" ] || die InvalidConfiguration "nginx refused the configuration in $conf_dir, see above"
  say "InvalidConfiguration: nginx refused the mounted configuration; the last good one is used"
  write_resolver "$run_dir/conf/resolver.conf"
fi

[ -z "$stopping" ] || exit 0
run_nginx -c "$run_dir/conf/nginx.conf" -g 'daemon off;' &
nginx_pid=$!
watch "$seen_version" &
watcher_pid=$!
trap stop TERM INT QUIT
[ -z "$stopping" ] || stop

wait "$nginx_pid"
code=$?
kill "$watcher_pid" 2>/dev/null
die NginxExited "nginx ended by itself with code $code"
