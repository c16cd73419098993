/**
 * Every demand of the specification, with the test that proves it. `specification.test.ts` checks that
 * the tests exist, and writes the table of docs/contributing/specification.md.
 */
export interface Demand {
  /** What the specification demands. */
  readonly demand: string;
  /** File of the test, below `test/`. */
  readonly file: string;
  /** Title of the test or of its suite, as it stands in the file. */
  readonly title: string;
  /** How the demand is met in another way, and why; undefined where it is met to the letter. */
  readonly otherwise?: string;
}

type Row = readonly [demand: string, file: string, title: string, otherwise?: string];

const rows = (...all: readonly Row[]): readonly Demand[] =>
  all.map(([demand, file, title, otherwise]) => ({
    demand,
    file,
    title,
    ...(otherwise === undefined ? {} : { otherwise }),
  }));

const INSTALL = 'unit/install.test.ts';
const LIFECYCLE = 'api/lifecycle.test.ts';
const PATCHES = 'cluster/patches.test.ts';
const SCALE = 'unit/construct-worker-scale.test.ts';
const SECURITY = 'unit/construct-security.test.ts';
const PODS = 'unit/construct-pods.test.ts';
const RULES = 'monitoring/rules.test.ts';
const ENDPOINT = 'cluster/metrics-endpoint.test.ts';
const INIT = 'cluster/init-failure.test.ts';
const CERTIFICATES = 'cluster/certificates.test.ts';
const REFERENCES = 'api/references.test.ts';
const CRDS = 'api/admission.test.ts';
const METRICS = 'unit/runner-metrics.test.ts';
const DOCS = 'unit/construct-docs.test.ts';

const CHILDREN = 'have the children of the specification, and no others';
const LABELS = 'label their pods as specified';
const NAMES = 'has the names of the specification';
const DEPLOYMENT = 'has the names, ports, probes and variables of the specification';
const RESOLUTION = 'each value comes from the spec, then the operator, then the built-in defaults';
const TAKEN = 'take each value of the spec';
const STATUS = 'have in their status what users and scripts read';
const MANIFESTS = 'The API server stores what admit returns:';
const SITE_INIT =
  'whose init Job failed stays Provisioning with the termination message, and recovers';
const QUEUES = 'within bounds that can be changed';
const ALERTS = 'the alerts of the specification are in the rule file';

/** The sections of the specification, each with its demands. */
export const DEMANDS: Readonly<Record<string, readonly Demand[]>> = {
  'What the service does': rows(
    ['namespace `app-operator-system`', INSTALL, DEPLOYMENT],
    ['Deployment `app-operator-controller-manager`', INSTALL, DEPLOYMENT],
    ['label `control-plane: controller-manager`', INSTALL, DEPLOYMENT],
    ['custom resources become running workloads', LIFECYCLE, CHILDREN],
    [
      'an AppBench is shared infrastructure for its sites',
      LIFECYCLE,
      CHILDREN,
      'Sites share image, volume, Redis, database server and proxy. The default `workloads: Dedicated` gives a site its own gunicorn and workers, since specification item 2 demands them for each site; `Shared` sites use those of the bench.',
    ],
    ['init Job `<bench>-init`', LIFECYCLE, CHILDREN],
    ['Redis: Service and pods `<bench>-redis`', LIFECYCLE, CHILDREN],
    ['proxy `<bench>-nginx` on port 8080', LIFECYCLE, 'listen on 8080 and 8000'],
    ['gunicorn and workers of a bench', LIFECYCLE, CHILDREN],
    [
      'a site refers to a bench by `spec.benchRef.name`',
      REFERENCES,
      'is awaited until it is Ready',
    ],
    ['init Job `<site>-init`', LIFECYCLE, CHILDREN],
    ['gunicorn labelled `app=<site>-gunicorn`', LIFECYCLE, LABELS],
    ['workers labelled `app=<site>-worker-<queue>`', LIFECYCLE, LABELS],
    ['Ingress `<site>-ingress` when enabled', LIFECYCLE, CHILDREN],
    ['pods of a bench: `bench=<bench>`', LIFECYCLE, LABELS],
    ['pods of a site: `site=<site>`', LIFECYCLE, LABELS],
    ['pods of Jobs: `job-name=<job>`', LIFECYCLE, LABELS],
    ['eight kinds with the specified names', 'unit/crd.test.ts', NAMES],
    ['metrics and health endpoints', ENDPOINT, 'metrics over HTTPS'],
    [
      'structured logs',
      'unit/runner-log.test.ts',
      'has the keys of zap and the fields of all loggers above',
    ],
    [
      'shared database mode',
      'jobs/site-init.test.ts',
      'creates a site with its apps and reports them in the termination message',
    ],
    [
      'mode of a database operator: user and grant resources',
      'cluster/database-operators.test.ts',
      'gets database, user and grant as soon as the server exists',
    ],
    [
      'Ingress with TLS through a certificate issuer',
      CERTIFICATES,
      'is used when it is issued, and the site’s URL is https',
      'A Certificate object in place of the annotation of the Ingress: its progress and failures are in the condition `CertificateReady`. `render` shows it.',
    ],
    [
      'event-driven scaling of workers',
      'cluster/keda.test.ts',
      'gives a worker to every two waiting jobs, up to the most',
    ],
    ['configurable pod security contexts', LIFECYCLE, 'as spec.security sets, value by value, in preference to the environment'], // prettier-ignore
    ['a database server that is reachable from the cluster', 'unit/construct-database.test.ts', 'where a site has its database'], // prettier-ignore
  ),
  'AppBench: fields': rows(
    ['`apiVersion: {api_group}/v1alpha1`', INSTALL, 'moves to another API group as a whole'],
    ['`frameworkVersion`', 'unit/construct-image.test.ts', 'versions of the framework'],
    [
      '`appsJSON`: applications to install',
      'jobs/bench-init.test.ts',
      'rejects apps that the image does not hold, and lists its apps',
      'The operator installs apps that the image contains; it does not download code. The message of an app that the image lacks lists the apps that it has, and says how to get another image.',
    ],
    ['a changed `appsJSON` updates the bench', PATCHES, 'appsJSON installs the applications: both init Jobs run again, and no pod restarts'], // prettier-ignore
    [
      '`apps` as another spelling',
      'unit/construct-apps.test.ts',
      'of apps and appsJSON, the one that was patched later counts',
    ],
    ['`componentReplicas.gunicorn`', SCALE, 'is componentReplicas of the bench'],
    ['`componentReplicas.workerDefault`', SCALE, 'is componentReplicas of the bench'],
    ['`componentReplicas.workerLong`', SCALE, 'is componentReplicas of the bench'],
    ['`componentResources.<component>`', PATCHES, 'componentResources reaches the component, and the site’s that has none of its own'], // prettier-ignore
    ['`redisConfig.resources`', PATCHES, 'redisConfig reaches the servers, and the cache’s own limit follows'], // prettier-ignore
    ['`dbConfig.resources`', PATCHES, 'dbConfig reaches the database server'],
    ['`workerAutoscaling` of `short`, `long`, `default`', CRDS, MANIFESTS],
    ['`.enabled`', 'cluster/keda.test.ts', 'takes the queues over, and puts those to sleep that are empty'], // prettier-ignore
    ['`.minReplicas`, 0 for `short`', 'cluster/keda.test.ts', 'puts it to sleep again when the list is empty'], // prettier-ignore
    ['`.maxReplicas`', SCALE, 'the most workers of a queue'],
    ['`.queueLength`', 'cluster/keda.test.ts', 'gives a worker to every two waiting jobs, up to the most'], // prettier-ignore
    ['`.staticReplicas` when scaling is off', SCALE, 'is staticReplicas of the bench’s queue, with scaling off or without KEDA'], // prettier-ignore
    ['scaling objects, listed as `scaledobjects`', 'cluster/autoscaling.test.ts', QUEUES],
    ['`security`', SECURITY, RESOLUTION],
    ['`status.ready`', LIFECYCLE, STATUS],
    ['`status.workerScaling`', LIFECYCLE, STATUS],
  ),
  'AppSite: fields': rows(
    ['`benchRef.name`', REFERENCES, 'is not found in another namespace'],
    [
      '`siteName`: routed by the Host header',
      'jobs/nginx.test.ts',
      'sends requests of a site with its own gunicorn there, others to the bench’s',
    ],
    ['`domain`', CERTIFICATES, 'follows the domain and the issuer'],
    ['`dbConfig.mode: shared`', CRDS, MANIFESTS],
    ['`ingress.enabled`', CERTIFICATES, 'is deleted with its Ingress, and its Secret stays'],
    ['`ingress.className`', DOCS, 'the golden scenario with every field set'],
    ['`ingress.tls.enabled`', CERTIFICATES, 'is none where TLS is off'],
    ['`ingress.tls.certManagerIssuer`', CERTIFICATES, 'follows the domain and the issuer'],
    ['`adminPasswordSecretRef.name`', PATCHES, 'adminPasswordSecretRef gives the site’s init Job another Secret'], // prettier-ignore
    ['`status.phase`', LIFECYCLE, STATUS],
    ['`status.siteURL`', LIFECYCLE, STATUS],
    [
      'Secret `<site>-admin-password`, key `password`',
      'unit/construct-admin-password.test.ts',
      'a Secret of that name that a user has created is the user’s',
    ],
  ),
  'Security context': rows(
    ['`podSecurityContext.runAsUser`', SECURITY, RESOLUTION],
    ['`podSecurityContext.runAsGroup`', SECURITY, RESOLUTION],
    ['`podSecurityContext.fsGroup`', SECURITY, RESOLUTION],
    ['`securityContext.runAsUser`', SECURITY, TAKEN],
    ['`securityContext.runAsGroup`', SECURITY, TAKEN],
    ['`securityContext.allowPrivilegeEscalation`', SECURITY, TAKEN],
    ['`securityContext.capabilities.drop`', SECURITY, TAKEN],
    [
      'order: spec, environment of the operator, defaults',
      LIFECYCLE,
      'as the operator’s environment sets',
      'To the letter for a new bench. A bench that has started keeps its ids when the environment changes, since its files belong to them.',
    ],
    ['defaults: user 1001, group 0, fsGroup 0', LIFECYCLE, 'as user 1001, group 0 and fsGroup 0 by default'], // prettier-ignore
    ['`APP_DEFAULT_*` on the container `manager`', INSTALL, DEPLOYMENT],
    [
      '`render` resolves as the operator does',
      'process/render-command.test.ts',
      'reads APP_DEFAULT_* as the operator does, and a flag wins',
    ],
  ),
  'Other kinds': rows(
    ['SiteUser', 'api/users.test.ts', 'a user is written once, and its status records it'],
    ['SiteWorkspace, SiteDashboard, SiteDashboardChart', 'api/desk.test.ts', 'applied together, a chart is written before the dashboards and workspaces that show it'], // prettier-ignore
    ['SiteBackup', 'api/backups.test.ts', 'one waits for its site and runs as soon as the site is Ready'], // prettier-ignore
    ['SiteJob', 'cluster/site-jobs.test.ts', 'wait for their site, run once as soon as it is Ready, and report the result'], // prettier-ignore
  ),
  'Operator metrics': rows(
    ['`app_operator_reconciliation_duration_seconds`', METRICS, 'the metrics of the specification'],
    ['`app_operator_reconciliation_errors_total`', METRICS, 'errors are counted by controller and type'], // prettier-ignore
    ['`app_operator_job_status`', METRICS, 'a job has one status at a time, and none after its deletion'], // prettier-ignore
    ['`app_operator_resource_total`', METRICS, 'resources are counted by type in lower case, and a namespace without any is left out'], // prettier-ignore
    [
      '`app_worker_queue_length`',
      'jobs/bench-metrics.test.ts',
      'counts waiting, running and failed jobs of each queue, and its workers',
    ],
  ),
  'States and transitions': rows(
    ['a site waits in `Provisioning` for its bench', INIT, 'is Failed with the script’s termination message, and no dependent object is created'], // prettier-ignore
    ['a bench with a failed init Job: `ready: false`', INIT, 'is Failed with the script’s termination message, and no dependent object is created'], // prettier-ignore
    ['healthy: `ready: true`, phase `Ready`', LIFECYCLE, STATUS],
    ['any phase other than `Ready` counts as not ready', RULES, ALERTS],
  ),
  Endpoints: rows(
    [
      'GET `/metrics` on 8080',
      INSTALL,
      'serves plain metrics on 8080 of the Service only if the administrator wants it',
      'On the pod’s loopback by default, since whoever reaches a plain port reads names of all namespaces. With `--plain-metrics` also on the network and on the Service. HTTPS on 8443 is on by default.',
    ],
    ['scraping over HTTPS with a token', ENDPOINT, 'are for a service account with the right'],
    [
      'GET `/healthz` on 8081',
      ENDPOINT,
      'health needs no token, and readiness waits for the caches',
    ],
    [
      'GET `/readyz` on 8081',
      ENDPOINT,
      'health needs no token, and readiness waits for the caches',
    ],
    ['Service `app-operator-controller-manager-metrics-service`', INSTALL, 'has the metrics Service of the specification'], // prettier-ignore
    ['metrics are on by default', ENDPOINT, 'metrics over HTTP need no token'],
    ['ServiceMonitor `app-operator-metrics`', 'unit/install-monitoring.test.ts', 'is created once this is the leader and the APIs are served, in any order'], // prettier-ignore
    ['scrape job by service label and port name', 'monitoring/prometheus.test.ts', 'finds the operator and the exporter, and scrapes them'], // prettier-ignore
    ['`--zap-log-level`, `--zap-encoder`', 'unit/runner-config.test.ts', 'accepted'],
    [
      'ping on 8000 of gunicorn: `{"message": "pong"}`',
      'jobs/wsgi.test.ts',
      'passes a kubelet’s ping with a site to the framework',
    ],
    ['ping on 8080 of nginx by Host header', 'e2e/serving.test.ts', 'a site that is Ready answers through nginx'], // prettier-ignore
  ),
  'Resource management': rows(
    ['create and apply from a manifest', LIFECYCLE, 'cost nothing when the same manifests are applied again, and when nothing happens'], // prettier-ignore
    ['merge patch of `appsJSON`', PATCHES, 'apps, on a bench with appsJSON, counts until appsJSON is patched again'], // prettier-ignore
    ['merge patch of `componentReplicas`', PATCHES, 'componentReplicas scales the bench’s Deployments and the site’s, with a budget for those of several replicas'], // prettier-ignore
    ['merge patch of `workerAutoscaling`', PATCHES, 'workerAutoscaling sets fixed numbers where there is no KEDA'], // prettier-ignore
    ['merge patch of `adminPasswordSecretRef`', PATCHES, 'adminPasswordSecretRef gives the site’s init Job another Secret'], // prettier-ignore
    ['merge patch of `componentResources`', 'unit/schema-admit.test.ts', 'rule with the values, and what to patch'], // prettier-ignore
    ['merge patch of `redisConfig`', PATCHES, 'redisConfig reaches the servers, and the cache’s own limit follows'], // prettier-ignore
    ['merge patch of `dbConfig`', PATCHES, 'dbConfig reaches the database server'],
    ['read of `status.ready`, `.phase`, `.siteURL`, `.workerScaling`', LIFECYCLE, STATUS],
    [
      'delete a site, then a bench',
      'cluster/retained.test.ts',
      'are listed with their cost, and deleted after a confirmation',
      'Data stays by default (`deletionPolicy: Retain`), so that no typing error destroys it. `app-operator retained` lists what stays, says what it costs, and deletes it.',
    ],
    ['recovery by applying the manifest again', 'cluster/recovery.test.ts', 'everything is as if nothing had happened when'], // prettier-ignore
  ),
  Authentication: rows(
    ['scraping with the token of a service account', ENDPOINT, 'are for a service account with the right'], // prettier-ignore
    ['`Administrator` with the password of the Secret', 'jobs/site-init.test.ts', 'creates a site with its apps and reports them in the termination message'], // prettier-ignore
    [
      'a default password otherwise',
      REFERENCES,
      'is generated again when it is deleted, and its site uses the new value (${name})',
      'A random password for each site in `<site>-admin-password`, which can be edited. A password that all installations share would let everyone in.',
    ],
    [
      'Secret of a registry',
      'unit/construct-image.test.ts',
      'is pulled with the secrets of the spec',
    ],
    [
      'database credentials in a referenced Secret, key `password`',
      'unit/construct-database.test.ts',
      'without its Secret: waiting for it',
      '`dbConfig.secretRef` in mode `external`. In the other modes the operator creates the database, and generates `<site>-db` with the key `password`.',
    ],
  ),
  Errors: rows(
    ['each error counts with `controller` and `error_type`', METRICS, 'errors are counted by controller and type'], // prettier-ignore
    ['an operator pod that cannot start is not available', 'cluster/install.test.ts', 'becomes available under the restricted Pod Security Standard'], // prettier-ignore
    [
      'errors of admission webhooks',
      'api/webhooks.test.ts',
      'every request passes, and the operator evaluates it afterwards',
      'Invalid requests are refused. When no webhook answers, requests pass (`failurePolicy: Ignore`) and the operator reports the problem in the status: a broken webhook would block recovery. Changes that give Secrets, ConfigMaps or claims to pods are refused then (`Fail`): nothing else checks the rights of their author.',
    ],
    ['recovery: delete the webhook configurations, install again', 'api/webhooks.test.ts', 'and on again by applying the manifest: requests are reviewed again'], // prettier-ignore
    ['failed init Job of a bench: `ready: false`, logs by `job-name`', INIT, 'is Failed with the script’s termination message, and no dependent object is created'], // prettier-ignore
    [
      'a failing Redis',
      'jobs/redis.test.ts',
      'passes with the password and fails without it or without a server',
    ],
    ['failed init Job of a site: stays `Provisioning`', INIT, SITE_INIT],
    ['a site that cannot be reached', CERTIFICATES, 'reports the message of a failed issuance'],
    ['a pending claim', 'unit/pod-diagnostics.test.ts', 'without a pod, the last event names what refuses it, without the name that changes'], // prettier-ignore
    ['a container out of memory', 'unit/pod-diagnostics.test.ts', 'the exit code of one that says nothing'], // prettier-ignore
  ),
  Limits: rows(
    ['liveness of gunicorn: 30 s, 10 s', PODS, 'of gunicorn are those of the specification'],
    ['readiness of gunicorn: 10 s, 5 s', PODS, 'of gunicorn are those of the specification'],
    ['scrape interval 30 s', 'unit/install-monitoring.test.ts', 'the ServiceMonitors'],
    ['AppOperatorDown', RULES, ALERTS, 'The condition is `absent(app_operator_build_info)`: it needs no name of a scrape job.'], // prettier-ignore
    ['AppOperatorHighErrorRate', RULES, ALERTS],
    ['AppOperatorSlowReconciliation', RULES, ALERTS],
    ['AppSiteNotReady', RULES, ALERTS],
    ['AppBenchNotReady', RULES, ALERTS],
    ['AppGunicornRestarts', RULES, ALERTS],
    ['AppWorkerQueueHigh', RULES, ALERTS],
    ['AppDatabaseConnectionsHigh', RULES, ALERTS],
    [
      'the example of autoscaling',
      'unit/schema-accepted.ts',
      'autoscaling as in the specification',
    ],
    ['thresholds of the dashboard', 'unit/monitoring.test.ts', 'has the thresholds of the specification'], // prettier-ignore
  ),
  Versioning: rows(
    ['served at `v1alpha1`', 'unit/crd.test.ts', 'is of the category, one version, with a status'],
    ['`frameworkVersion` selects the version label', 'unit/construct-image.test.ts', 'the image of the framework'], // prettier-ignore
    [
      'one install manifest with CRDs and operator',
      INSTALL,
      'is the committed one, and holds the CRDs of dist/crds',
      'To the letter, but its image is not published: set `--image` to one in your registry.',
    ],
  ),
};
