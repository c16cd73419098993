"""Constants that the operator (TypeScript), the jobs (Python) and the shell scripts share.

This is the only declaration: `npm run build` turns it into
`constructs/kit/constants.generated.ts` and into `constants.sh`. A line is a comment, or a name
and a JSON number, a JSON string, or a tuple of JSON strings.
"""

# Directory of the bench in the framework's images.
BENCH_DIR = "/home/frappe/frappe-bench"
# Directory where pods mount the files of jobs/.
SCRIPTS_DIR = "/app-operator/scripts"

# Ports of a bench's components.
NGINX_PORT = 8080
GUNICORN_PORT = 8000
SOCKETIO_PORT = 9000
# Port of the Origin that nginx passes to socketio. Nothing listens on it.
SOCKETIO_ORIGIN_PORT = 1008
METRICS_PORT = 9180
REDIS_CACHE_PORT = 6379
REDIS_QUEUE_PORT = 6380
# Default ports of the database servers.
MARIADB_PORT = 3306
POSTGRES_PORT = 5432

# Directory where the ConfigMap with nginx's configuration is mounted.
NGINX_CONFIG_DIR = "/etc/app-operator/nginx"
# Writable directory of nginx: configuration in use, pid, temporary files.
NGINX_RUN_DIR = "/run/nginx"
# Writable directory of a Redis server's configuration.
REDIS_RUN_DIR = "/run/redis"
# Directory where the queue's volume is mounted.
REDIS_DATA_DIR = "/data"

# Queues of the framework that have workers, without their prefix.
QUEUES = ("default", "short", "long")
# First part of the name of the list in Redis that holds a queue's waiting jobs.
QUEUE_KEY = "rq:queue:"
# Below the sites directory: the certificate of the authority of Redis servers outside.
REDIS_CA_FILE = ".app-operator/redis-ca.crt"
# Name of the bench's configuration in the sites directory.
COMMON_CONFIG_FILE = "common_site_config.json"

# Keys of site_config.json and common_site_config.json that the operator owns, and the beginnings of
# their names: `siteConfig` cannot set them.
CONFIG_OWNED_KEYS = ("bench_id", "encryption_key", "extra_config", "host_name")
# These have fields of their own.
CONFIG_FIELD_KEYS = ("scheduler_tick_interval", "workers")
CONFIG_STATE_KEYS = ("maintenance_mode", "pause_scheduler")
CONFIG_LOGIN_KEYS = ("rq_password", "rq_username", "use_rq_auth")
CONFIG_OWNED_PREFIXES = ("app_operator_", "db_", "redis_", "socketio_")
# Key of these files that lists the keys that `siteConfig` has set.
CONFIG_KEYS_FIELD = "app_operator_keys"

# File where the kubelet reads a container's termination message, and the bytes that it reads.
TERMINATION_LOG = "/dev/termination-log"
TERMINATION_MESSAGE_BYTES = 4096

# Reasons of failed Jobs that the operator acts on: the site stays closed after them.
MIGRATION_FAILED = "MigrationFailed"
RESTORE_FAILED = "RestoreFailed"

# Script that starts the other scripts, so that no module on the sites volume is imported.
ISOLATED_SCRIPT = "run_isolated.py"
# Directory that a Job's pod shares with the container that has the administrator's login, and the
# socket in it.
DATABASE_ADMIN_DIR = "/app-operator/database-admin"
# Directory that a Job's pod shares with the container that has the access key of a store.
STORE_SIGNER_DIR = "/app-operator/store-signer"
