#!/bin/sh
# Runs nginx as the container's process, and reloads it when the mounted ConfigMap changes.
#
# The configuration is copied from CONF_DIR to RUN_DIR/conf only if `nginx -t` accepts it. An invalid
# one is reported, and the last valid one stays in use, also after a restart of the container.
# /etc/nginx is not used.
#
#   CONF_DIR     the mounted ConfigMap
#   RUN_DIR      a writable directory: configuration in use, pid, temporary files
#   RESOLV_CONF  default /etc/resolv.conf
#   RESOLVER     nginx resolver addresses; default: the name servers of RESOLV_CONF
#   STOP_SECONDS on SIGTERM, seconds for requests in flight before the fast stop (default 20)
set -u

# Set first: an early SIGTERM must find a handler. The script stops below, before it starts nginx.
stopping=
trap 'stopping=yes' TERM INT QUIT

# shellcheck source=/dev/null
. "${0%/*}/constants.sh"
# shellcheck source=/dev/null
. "${0%/*}/die.sh"
conf_dir=${CONF_DIR:-$OPERATOR_NGINX_CONFIG_DIR}
run_dir=${RUN_DIR:-$OPERATOR_NGINX_RUN_DIR}
resolv_conf=${RESOLV_CONF:-/etc/resolv.conf}
stop_seconds=${STOP_SECONDS:-20}
nginx_pid=

say() { echo "app-operator: $*" >&2; }

# Without -e, nginx logs to a file of its build until it has read its configuration. 1.19.5 added -e.
run_nginx() {
  if nginx -h 2>&1 | grep -q -- '-e filename'; then
    set -- -e stderr "$@"
  fi
  exec nginx -p "$run_dir/" "$@"
}

# The kubelet replaces ..data for each new version. In a plain directory the content is compared.
version_of() {
  readlink "$conf_dir/..data" 2>/dev/null || cat "$conf_dir"/*.conf 2>/dev/null | cksum
}

write_resolver() {
  addresses=${RESOLVER:-}
  if [ -z "$addresses" ]; then
    while read -r word address _; do
      [ "$word" = nameserver ] || continue
      case $address in
        *%*) continue ;; # nginx does not support the zone of a link-local address
        *:*) addresses="$addresses [$address]" ;;
        ?*) addresses="$addresses $address" ;;
      esac
    done <"$resolv_conf"
  fi
  if [ -n "$addresses" ]; then
    echo "resolver $addresses valid=10s;" >"$1"
  else
    say "NoResolver: $resolv_conf has no name server: nginx can reach only backends with an IP address"
    : >"$1"
  fi
}

# The addresses of socketio's pods as nginx has them.
# Fails without an address: also where DNS does not answer.
socketio_servers() {
  read -r host port <"$conf_dir/socketio-pods" || return 1
  # The dot: without it, each domain of RESOLV_CONF would be tried first.
  timeout 3 getent ahosts "$host." | while read -r address _; do
    case $address in
      *:*) echo "server [$address]:$port;" ;;
      ?*) echo "server $address:$port;" ;;
    esac
  done | sort -u | grep .
}

# Whether the pods of socketio have other addresses now, which nginx then uses. Without an answer of DNS,
# nginx keeps the last ones: it finds out itself which of them are wrong.
update_socketio_pods() {
  [ -f "$conf_dir/socketio-pods" ] || return 1
  in_use=$run_dir/conf/socketio-pods.conf
  servers=$(socketio_servers) || return 1
  [ "$servers" != "$(cat "$in_use" 2>/dev/null)" ] || return 1
  echo "$servers" >"$in_use.next" && mv "$in_use.next" "$in_use"
}

# Uses the mounted configuration if nginx accepts it.
take_config() {
  next=$run_dir/conf.next
  rm -rf "$next" && mkdir -p "$next" || return 1
  cp -L "$conf_dir"/*.conf "$next"/ || return 1
  [ ! -f "$conf_dir/socketio-pods" ] || socketio_servers >"$next/socketio-pods.conf" ||
    cp "$run_dir/conf/socketio-pods.conf" "$next" 2>/dev/null
  # A node without IPv6 cannot listen on it. A node with IPv6 only must.
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
    if [ "$now" = "$seen" ]; then
      update_socketio_pods || continue
      kill -HUP "$nginx_pid" || return
      say "Reloaded: nginx uses the addresses of the pods of socketio"
      continue
    fi
    if take_config; then
      kill -HUP "$nginx_pid" || return
      say "Reloaded: nginx uses the new configuration"
    else
      say "InvalidConfiguration: nginx rejected the new configuration; the last valid one stays in use"
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
mkdir -p "$run_dir" || die VolumeNotWritable "$run_dir cannot be created"
# A container that was killed between two renames leaves the last valid one here.
[ -d "$run_dir/conf" ] || [ ! -d "$run_dir/conf.old" ] || mv "$run_dir/conf.old" "$run_dir/conf"

seen_version=$(version_of)
if ! take_config; then
  [ -f "$run_dir/conf/nginx.conf" ] || die InvalidConfiguration "nginx rejected the configuration in $conf_dir, see above"
  say "InvalidConfiguration: nginx rejected the mounted configuration; the last valid one is used"
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
die NginxExited "nginx exited with code $code"
