import {
  BENCH_DIR,
  GUNICORN_PORT,
  MARIADB_PORT,
  NGINX_PORT,
  POSTGRES_PORT,
  REDIS_CACHE_PORT,
  REDIS_DATA_DIR,
  REDIS_QUEUE_PORT,
  REDIS_RUN_DIR,
  NGINX_RUN_DIR,
  SOCKETIO_PORT,
} from '../kit/constants.generated.js';
import type { Component } from '../kit/api.js';
import type { Problem } from '../kit/errors.js';

/** A component whose pods can have a template. */
export type PodComponent = Component | 'workers' | 'jobs' | 'redis' | 'database';

/** What the operator has in the pods of a component: a template leaves it as it is. */
export interface OwnPod {
  /** Value of the label `app.kubernetes.io/component` of the pods; undefined for all other pods. */
  readonly label?: string;
  /** How that label, and the name of the container, begin, where a spec names what follows. */
  readonly prefix?: string;
  /** The containers that take variables and mounts. */
  readonly containers: readonly string[];
  /** Variables that are set or read, by name; `X_*` stands for all that begin with `X_`. */
  readonly variables: readonly string[];
  /** Folders that are mounted or hold the program: nothing is mounted on, above or below them. */
  readonly folders: readonly string[];
  readonly ports: readonly number[];
  /** Volumes that further containers may mount. */
  readonly shared: readonly string[];
}

/** By which the loader, an interpreter or a library runs other code, or writes down what is secret. */
// prettier-ignore
const CODE = [
  'LD_*', 'GCONV_PATH', 'GLIBC_TUNABLES', 'LOCPATH', 'NLSPATH', 'HOSTALIASES', 'NSS_*',
  'OPENSSL_*', 'SSLKEYLOGFILE', 'GNUTLS_*', 'KRB5*', 'LIBMYSQL_*', 'PYTHON*', 'PERL*', 'RUBY*',
  'NODE_OPTIONS', 'NODE_PATH', 'NODE_REPL_*', 'GIT_*', 'EDITOR', 'VISUAL', 'PAGER', 'LESS*',
  'SHELL', 'SHELLOPTS', 'BASHOPTS', 'BASH_*', 'PS4', 'PROMPT_COMMAND', 'CDPATH', 'PWD',
];
const SHELL = [...CODE, 'HOME', 'USER', 'PATH', 'IFS', 'ENV', 'TERMINATION_LOG', 'LISTEN_PORT'];
/** Read by the framework in place of the configuration of the bench, or by the operator's scripts. */
// prettier-ignore
const FRAMEWORK = [
  ...SHELL,
  'FRAPPE_STREAM_LOGGING', 'FRAPPE_BENCH_ROOT', 'FRAPPE_SITE', 'FRAPPE_SITE_NAME_HEADER',
  'FRAPPE_DB_*', 'FRAPPE_REDIS_*', 'FRAPPE_SOCKETIO_PORT', 'SITES_PATH', 'IMAGE',
  'SITE_NAME', 'BENCH_DIR', 'BENCH_ID', 'SOURCE', 'TARGET', 'IDLE_SECONDS', 'CACHE_SECONDS',
  'OPERATOR_*', 'GUNICORN_CMD_ARGS', 'WEB_CONCURRENCY', 'ASSETS_DIR',
  'NGINX_HOST', 'NGINX_PORT',
];
const NGINX = ['CONF_DIR', 'RUN_DIR', 'RESOLV_CONF', 'RESOLVER', 'STOP_SECONDS', 'NGINX'];
// prettier-ignore
const JOBS = [
  'DB_*', 'SITE_*', 'JOB_*', 'STORE_*', 'S3_*', 'RESTORE_*', 'BACKUP_*', 'BENCH_*', 'REDIS_*',
  'KEEP_*', 'ADMIN_PASSWORD', 'ENCRYPTION_KEY', 'COMMON_CONFIG', 'COMPRESS', 'DOCUMENTS',
  'ADOPT',
  'JOBS_WAIT_SECONDS', 'CONNECTIONS_WAIT_SECONDS', 'MAINTENANCE_SETTLE_SECONDS', 'WAIT_SECONDS',
  'LOCK_WAIT_SECONDS',
  'KILL_AFTER_SECONDS', 'REQUEST', 'VALUES',
  'EXCLUDE', 'INCLUDE', 'SECRETS', 'SOCKETIO_PORT', 'ENV_SOURCES', 'TIMEOUT_SECONDS', 'URL',
  'WAS_READY',
  'WITH_FILES', 'NAMESPACE', 'BENCH', 'STEP_RESULT', 'MYSQL_*', 'PG*',
];
const OPERATOR_DIR = '/app-operator';
/** Above the bench is the home of the user, where other programs have their settings. */
const BENCH_FOLDERS = [BENCH_DIR, OPERATOR_DIR];

/**
 * Where programs and libraries are, and what they read before any argument counts: a container with
 * passwords runs nothing that a template brings.
 */
// prettier-ignore
const PROGRAM_FOLDERS = [
  '/bin', '/sbin', '/lib', '/lib64', '/usr/bin', '/usr/sbin', '/usr/lib', '/usr/lib64',
  '/usr/libexec', '/usr/local/bin', '/usr/local/sbin', '/usr/local/lib', '/opt',
  '/etc/ld.so.preload', '/etc/ld.so.cache', '/etc/ld.so.conf', '/etc/ld.so.conf.d',
  '/etc/ssl/openssl.cnf', '/etc/passwd',
  '/etc/nsswitch.conf', '/etc/hosts', '/etc/host.conf', '/etc/resolv.conf', '/etc/gai.conf',
  '/proc', '/sys', '/dev',
];

const frameworkPod = (container: string, ports: readonly number[] = []): OwnPod => ({
  containers: [container],
  variables: FRAMEWORK,
  folders: BENCH_FOLDERS,
  ports,
  shared: ['sites', 'scratch'],
});

const framework = (container: string, ports: readonly number[] = []): OwnPod => ({
  label: container,
  ...frameworkPod(container, ports),
});

/** The components, as users name them. */
export const POD_COMPONENTS: Readonly<Record<PodComponent, OwnPod>> = {
  gunicorn: framework('gunicorn', [GUNICORN_PORT]),
  nginx: {
    ...framework('nginx', [NGINX_PORT]),
    variables: [...FRAMEWORK, ...NGINX],
    folders: [...BENCH_FOLDERS, '/etc/app-operator', NGINX_RUN_DIR],
  },
  socketio: {
    ...framework('socketio', [SOCKETIO_PORT]),
    variables: [...FRAMEWORK, 'SOCKETIO_ORIGIN_PORT'],
  },
  scheduler: framework('scheduler'),
  workerDefault: framework('worker-default'),
  workerShort: framework('worker-short'),
  workerLong: framework('worker-long'),
  workers: {
    // Each container is called as its workers: users call all of them `worker`.
    ...frameworkPod('worker'),
    prefix: 'worker-',
  },
  jobs: {
    // Each Job's container has another name: users call all of them `job`.
    containers: ['job'],
    variables: [...FRAMEWORK, ...JOBS],
    // The home of Jobs is /tmp.
    folders: [
      ...BENCH_FOLDERS,
      '/home/frappe',
      '/tmp',
      '/etc/mysql',
      '/etc/my.cnf',
      '/etc/my.cnf.d',
      ...PROGRAM_FOLDERS,
    ],
    ports: [],
    shared: ['sites'],
  },
  redis: {
    label: 'redis',
    containers: ['cache', 'queue'],
    variables: [...SHELL, 'REDIS_*', 'OPERATOR_*'],
    folders: [OPERATOR_DIR, REDIS_RUN_DIR, REDIS_DATA_DIR, ...PROGRAM_FOLDERS],
    ports: [REDIS_CACHE_PORT, REDIS_QUEUE_PORT],
    shared: [],
  },
  database: {
    label: 'database',
    // The container is called as its program: users call both `database`.
    containers: ['database'],
    variables: [...SHELL, 'MARIADB_*', 'MYSQL_*', 'POSTGRES_*', 'PG*'],
    folders: [
      OPERATOR_DIR,
      '/var/lib/mysql',
      '/var/lib/postgresql',
      '/run/mysqld',
      '/var/run/postgresql',
      ...PROGRAM_FOLDERS,
    ],
    ports: [MARIADB_PORT, POSTGRES_PORT],
    shared: [],
  },
};

/** Where programs write, and what the kernel serves: only a mount below is possible. */
export const SYSTEM_FOLDERS = ['/tmp', '/dev', '/proc', '/sys', '/bin', '/lib', '/usr', '/etc'];

/** Every container of the operator, in whichever pod. */
// prettier-ignore
const OWN_CONTAINERS = [
  'gunicorn', 'nginx', 'socketio', 'scheduler', 'metrics', 'cache', 'queue', 'assets',
  'worker-default', 'worker-short', 'worker-long', 'queue-prefix', 'mariadb', 'postgres',
  'init', 'drop', 'reopen', 'documents', 'configuration', 'backup', 'backup-delete',
  'database-admin',
  'store-signer', 'job', 'database',
];

/** Whether a container of the operator has the name, in a component or in any other. */
export function isOwnContainer({ prefix }: OwnPod, name: string): boolean {
  return OWN_CONTAINERS.includes(name) || (prefix !== undefined && name.startsWith(prefix));
}

/** Every volume of the operator, in whichever pod. */
// prettier-ignore
export const OWN_VOLUMES = [
  'sites', 'scratch', 'scripts', 'nginx-config', 'queue', 'run', 'data', 'database-admin',
  'store', 'store-ca', 'store-signer', 'documents', 'secrets', 'values', 'redis-ca',
  'database-ca', 'database-client', 'database-tls',
];

/** Every name of a port of the operator. */
export const OWN_PORT_NAMES = ['http', 'metrics', 'cache', 'queue', 'mariadb', 'postgres'];

/** How names of Secrets end that the operator generates. */
export const OWN_SECRET_SUFFIXES = [
  '-redis-auth',
  '-db-root',
  '-db',
  '-admin-password',
  '-encryption-key',
];

/** How names of claims end that the operator makes. */
export const OWN_CLAIM_SUFFIXES = ['-sites', '-redis-data', '-db-data'];

/** What is wrong with the name of an object, if the operator makes objects of such names. */
export function generatedName(
  name: string | undefined,
  path: string,
  { suffixes, what }: { readonly suffixes: readonly string[]; readonly what: string },
): readonly Problem[] {
  const suffix = suffixes.find((end) => name?.endsWith(end));
  if (suffix === undefined) return [];
  const message = `Invalid value: "${name}": names that end with ${suffix} are of ${what} of the operator, for its own containers; use another name`;
  return [{ path, message }];
}

/** Keys of labels that select pods, or say what they are. A key that ends with `/` stands for all. */
// prettier-ignore
const OWN_LABELS = [
  'app', 'bench', 'site', 'siteuser', 'siteworkspace', 'sitedashboard', 'sitedashboardchart',
  'sitebackup', 'sitejob', 'job-name', 'controller-uid', 'pod-template-hash',
  'controller-revision-hash', 'batch.kubernetes.io/', 'apps.kubernetes.io/',
  'statefulset.kubernetes.io/', 'app.kubernetes.io/name', 'app.kubernetes.io/instance',
  'app.kubernetes.io/component', 'app.kubernetes.io/managed-by',
];

/** Whether the operator or Kubernetes sets a label of pods. */
export function isOwnLabel(key: string, group: string): boolean {
  return isOwnAnnotation(key, group) || OWN_LABELS.some((own) => matches(own, key));
}

/** Whether the operator sets an annotation of pods. */
export function isOwnAnnotation(key: string, group: string): boolean {
  return key.startsWith(`${group}/`);
}

function matches(own: string, key: string): boolean {
  return own.endsWith('/') ? key.startsWith(own) : key === own;
}

/** Whether a variable is one of the operator's in a component. */
export function isOwnVariable({ variables }: OwnPod, name: string): boolean {
  return variables.some((own) =>
    own.endsWith('*') ? name.startsWith(own.slice(0, -1)) : name === own,
  );
}

/** The component of pods; undefined for the exporter, which has no template. */
export function podComponent(label: string): PodComponent | undefined {
  const names = Object.keys(POD_COMPONENTS) as PodComponent[];
  const hasPrefix = ({ prefix }: OwnPod): boolean =>
    prefix !== undefined && label.startsWith(prefix);
  return (
    names.find((name) => POD_COMPONENTS[name].label === label) ??
    names.find((name) => hasPrefix(POD_COMPONENTS[name]))
  );
}
