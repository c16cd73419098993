import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import fc from 'fast-check';

import {
  isOwnAnnotation,
  isOwnContainer,
  isOwnLabel,
  isOwnVariable,
  OWN_PORT_NAMES,
  OWN_VOLUMES,
  POD_COMPONENTS,
  podComponent,
  type OwnPod,
} from '../../constructs/frappe/pod-components.js';
import {
  strategicMerge,
  withComponentTemplate,
  withTemplatesOf,
  type PodJson,
} from '../../constructs/frappe/pod-template.js';
import { templateProblems } from '../../constructs/frappe/pod-template-rules.js';
import type { CheckedTemplate } from '../../constructs/frappe/pod-template-schema.js';
import { Stalled } from '../../constructs/kit/errors.js';
import type { Resource } from '../../constructs/kit/object.js';
import { validate } from '../../runner/admission/validate.js';
import { aBench, aReader, aReadyBench, aSecret, aSite } from '../golden/builders.js';
import { containersOf, corpus, podTemplates } from '../golden/corpus.js';
import { graphOf, kindOf } from '../golden/outcome.js';

type Fields = Readonly<Record<string, unknown>>;

const SECRET = aSecret('demo-bench-redis-auth');

/** What admission says about a bench or a site. */
function messages(resource: Resource): readonly string[] {
  const kind = kindOf(resource);
  const others = resource.kind === 'AppSite' ? [aReadyBench(), SECRET] : [SECRET];
  const { problems, warnings } = validate({
    kind,
    group: 'app-operator.io',
    object: resource,
    old: undefined,
    reader: aReader([resource, ...others]),
  });
  const all = problems.length > 0 ? problems : warnings;
  return all.map(({ path, message }) => `${path}: ${message}`);
}

/** What a reconcile says, as the Ready condition has it. */
function stalled(resource: Resource): string | undefined {
  try {
    kindOf(resource).resolve(resource, aReader([resource, aReadyBench(), SECRET]));
    return undefined;
  } catch (error) {
    if (error instanceof Stalled) return error.message;
    throw error;
  }
}

/** A resource as a user writes it, whatever the schema says. */
function withTemplates(resource: Resource, componentPodTemplates: Fields): Resource {
  return { ...resource, spec: { ...(resource.spec as Fields), componentPodTemplates } };
}

const benchWith = (component: string, template: Fields): Resource =>
  withTemplates(aBench(), { [component]: template });
const pod = (component: string, spec: Fields): Resource => benchWith(component, { spec });
const own = (container: Fields): Resource =>
  pod('gunicorn', { containers: [{ name: 'gunicorn', ...container }] });
const sidecar = (container: Fields): Resource =>
  pod('gunicorn', { containers: [{ name: 'logs', image: 'logs:1', ...container }] });
const env = (item: Fields): Resource => own({ env: [{ name: 'A', ...item }] });
const worker = (container: Fields): Resource =>
  pod('workers', { containers: [{ name: 'worker', ...container }] });
const job = (container: Fields): Resource =>
  pod('jobs', { containers: [{ name: 'job', ...container }] });
const volume = (item: Fields): Resource =>
  pod('gunicorn', {
    volumes: [{ name: 'a', ...item }],
    containers: [{ name: 'gunicorn', volumeMounts: [{ name: 'a', mountPath: '/a' }] }],
  });
const mount = (item: Fields): Resource =>
  pod('gunicorn', {
    volumes: [{ name: 'a', emptyDir: {} }],
    containers: [{ name: 'gunicorn', volumeMounts: [{ name: 'a', ...item }] }],
  });
const metadata = (fields: Fields): Resource => benchWith('nginx', { metadata: fields });

const ROOT = 'spec.componentPodTemplates.gunicorn';
const AT = `${ROOT}.spec`;
const OWN = `${AT}.containers[0]`;
const WORKER = 'spec.componentPodTemplates.workers.spec.containers[0]';
const HIDES = "which the operator's container needs; mount it elsewhere";
const TAKES = 'a template may set env, envFrom, volumeMounts';
const USE = 'use another name';

type Case = readonly [reason: string, resource: Resource, message: string];

const BAD: Readonly<Record<string, readonly Case[]>> = {
  'fields of pods': [
    ...[
      'hostNetwork',
      'hostPID',
      'hostIPC',
      'shareProcessNamespace',
      'hostUsers',
      'securityContext',
      'automountServiceAccountToken',
      'serviceAccount',
      'nodeName',
      'schedulerName',
      'ephemeralContainers',
      'activeDeadlineSeconds',
      'enableServiceLinks',
      'resourceClaims',
    ].map(
      (field): Case => [field, pod('gunicorn', { [field]: true }), `${AT}.${field}: Forbidden: a pod template may not set this field; supported fields: containers, initContainers, volumes, nodeSelector, tolerations, affinity, topologySpreadConstraints, hostAliases, dnsPolicy, dnsConfig, runtimeClassName, priorityClassName, serviceAccountName, terminationGracePeriodSeconds`], // prettier-ignore
    ),
    ['a restart policy', pod('jobs', { restartPolicy: 'OnFailure' }), 'spec.componentPodTemplates.jobs.spec.restartPolicy: Forbidden: a pod template may not set this field; supported fields: containers, initContainers, volumes, nodeSelector, tolerations, affinity, topologySpreadConstraints, hostAliases, dnsPolicy, dnsConfig, runtimeClassName, priorityClassName, serviceAccountName, terminationGracePeriodSeconds'], // prettier-ignore
    ['an unknown part', benchWith('gunicorn', { status: {} }), `${ROOT}.status: Forbidden: a pod template may not set this field; supported fields: metadata, spec`], // prettier-ignore
    ['a grace period below zero', pod('gunicorn', { terminationGracePeriodSeconds: -1 }), `${AT}.terminationGracePeriodSeconds: Invalid value: -1: ${AT}.terminationGracePeriodSeconds in body should be greater than or equal to 0`], // prettier-ignore
    ['a template that is text', benchWith('gunicorn', 'x' as unknown as Fields), `${ROOT}: Invalid value: "string": ${ROOT} in body must be of type object: "string"`], // prettier-ignore
    ['an unknown component', pod('web', {}), 'spec.componentPodTemplates: Invalid value: the components of a bench are gunicorn, nginx, socketio, scheduler, workerDefault, workerShort, workerLong, workers, jobs, redis and database'], // prettier-ignore
  ],
  'workers of own queues': [
    ...['worker-imports', 'worker-default', 'worker-x'].map(
      (name): Case => [name, pod('workers', { containers: [{ name, image: 'x' }] }), `spec.componentPodTemplates.workers.spec.containers[0].name: Unsupported value: "${name}": the operator's containers of workers are: worker; give a further container another name`], // prettier-ignore
    ),
    ['an init container of that name', pod('workers', { initContainers: [{ name: 'worker-imports', image: 'x' }] }), 'spec.componentPodTemplates.workers.spec.initContainers[0].name: Unsupported value: "worker-imports": the operator\'s containers of workers are: worker; give a further container another name'], // prettier-ignore
    ['resources', worker({ resources: {} }), `${WORKER}.resources: Forbidden: container "worker": the operator sets resources; set spec.workers[].resources; ${TAKES}`], // prettier-ignore
    ['a command', worker({ command: ['sh'] }), `${WORKER}.command: Forbidden: container "worker": the operator sets command; ${TAKES}`], // prettier-ignore
    ['an image', worker({ image: 'x' }), `${WORKER}.image: Forbidden: container "worker": the operator sets image; set spec.image of the AppBench; ${TAKES}`], // prettier-ignore
    ['a variable of the framework', worker({ env: [{ name: 'BENCH_ID', value: 'x' }] }), `${WORKER}.env[0].name: Invalid value: "BENCH_ID": the operator's container reads this variable; use another name`], // prettier-ignore
    ['the folder of the sites', pod('workers', { volumes: [{ name: 'a', emptyDir: {} }], containers: [{ name: 'worker', volumeMounts: [{ name: 'a', mountPath: '/home/frappe/frappe-bench/sites' }] }] }), `${WORKER}.volumeMounts[0].mountPath: Invalid value: "/home/frappe/frappe-bench/sites": hides /home/frappe/frappe-bench, ${HIDES}`], // prettier-ignore
    ['the label of its selector', benchWith('workers', { metadata: { labels: { app: 'x' } } }), 'spec.componentPodTemplates.workers.metadata.labels[app]: Invalid value: "app": the operator sets it; use another key'], // prettier-ignore
    ['the network of the node', pod('workers', { hostNetwork: true }), 'spec.componentPodTemplates.workers.spec.hostNetwork: Forbidden: a pod template may not set this field; supported fields: containers, initContainers, volumes, nodeSelector, tolerations, affinity, topologySpreadConstraints, hostAliases, dnsPolicy, dnsConfig, runtimeClassName, priorityClassName, serviceAccountName, terminationGracePeriodSeconds'], // prettier-ignore
  ],
  metadata: [
    ...[
      'app',
      'bench',
      'site',
      'app-operator.io/owner',
      'app.kubernetes.io/component',
      'job-name',
      'batch.kubernetes.io/job-name',
      'pod-template-hash',
    ].map(
      // prettier-ignore
      (key): Case => [key, metadata({ labels: { [key]: 'x' } }), `spec.componentPodTemplates.nginx.metadata.labels[${key}]: Invalid value: "${key}": the operator sets it; use another key`], // prettier-ignore
    ),
    ['the hash of the configuration', metadata({ annotations: { 'app-operator.io/config-hash': 'x' } }), 'spec.componentPodTemplates.nginx.metadata.annotations[app-operator.io/config-hash]: Invalid value: "app-operator.io/config-hash": the operator sets it; use another key'], // prettier-ignore
    ['a name', metadata({ name: 'x' }), 'spec.componentPodTemplates.nginx.metadata.name: Forbidden: a pod template may not set this field; supported fields: labels, annotations'], // prettier-ignore
  ],
  "the operator's containers": [
    ...['imagePullPolicy', 'restartPolicy', 'livenessProbe', 'startupProbe'].map(
      (field): Case => [field, own(field.endsWith('Probe') ? { [field]: { tcpSocket: { port: 9 } } } : { [field]: 'Always' }), field === 'restartPolicy' ? `${OWN}.restartPolicy: Forbidden: a pod template may not set this field; supported fields: name, image, imagePullPolicy, command, args, env, envFrom, volumeMounts, ports, resources, livenessProbe, readinessProbe, startupProbe, securityContext` : `${OWN}.${field}: Forbidden: container "gunicorn": the operator sets ${field}${field === 'imagePullPolicy' ? '; set spec.image.pullPolicy of the AppBench' : ''}; ${TAKES}`], // prettier-ignore
    ),
    ...['workingDir', 'stdin', 'volumeDevices', 'terminationMessagePath'].map(
      (field): Case => [field, own({ [field]: 'x' }), `${OWN}.${field}: Forbidden: a pod template may not set this field; supported fields: name, image, imagePullPolicy, command, args, env, envFrom, volumeMounts, ports, resources, livenessProbe, readinessProbe, startupProbe, securityContext`], // prettier-ignore
    ),
    ['a program', own({ command: ['sh'] }), `${OWN}.command: Forbidden: container "gunicorn": the operator sets command; ${TAKES}`], // prettier-ignore
    ['arguments', own({ args: ['-x'] }), `${OWN}.args: Forbidden: container "gunicorn": the operator sets args; ${TAKES}`], // prettier-ignore
    ['an image', own({ image: 'evil:1' }), `${OWN}.image: Forbidden: container "gunicorn": the operator sets image; set spec.image of the AppBench; ${TAKES}`], // prettier-ignore
    ['a port', own({ ports: [{ containerPort: 9 }] }), `${OWN}.ports: Forbidden: container "gunicorn": the operator sets ports; ${TAKES}`], // prettier-ignore
    ['a probe', own({ readinessProbe: { tcpSocket: { port: 9 } } }), `${OWN}.readinessProbe: Forbidden: container "gunicorn": the operator sets readinessProbe; ${TAKES}`], // prettier-ignore
    ['a security context', own({ securityContext: { runAsUser: 5 } }), `${OWN}.securityContext: Forbidden: container "gunicorn": the operator sets securityContext; set spec.security of the AppBench; ${TAKES}`], // prettier-ignore
    ['resources', own({ resources: { limits: { cpu: '1' } } }), `${OWN}.resources: Forbidden: container "gunicorn": the operator sets resources; set spec.componentResources.gunicorn; ${TAKES}`], // prettier-ignore
    ['resources of Redis', pod('redis', { containers: [{ name: 'cache', resources: {} }] }), 'spec.componentPodTemplates.redis.spec.containers[0].resources: Forbidden: container "cache": the operator sets resources; set spec.redisConfig.resources; a template may set env, volumeMounts'], // prettier-ignore
    ['all keys of a Secret in a Job', job({ envFrom: [{ secretRef: { name: 'a' } }] }), 'spec.componentPodTemplates.jobs.spec.containers[0].envFrom: Forbidden: container "job": a key could be a variable of the operator; name each variable in env'], // prettier-ignore
    ['a shell on start', own({ lifecycle: { postStart: {} } }), `${OWN}.lifecycle: Forbidden: a pod template may not set this field; supported fields: name, image, imagePullPolicy, command, args, env, envFrom, volumeMounts, ports, resources, livenessProbe, readinessProbe, startupProbe, securityContext`], // prettier-ignore
  ],
  variables: [
    ...[
      'SITE_NAME',
      'PYTHONPATH',
      'PATH',
      'HOME',
      'FRAPPE_DB_HOST',
      'FRAPPE_REDIS_QUEUE',
      'GUNICORN_CMD_ARGS',
    ].map(
      // prettier-ignore
      (name): Case => [name, env({ name, value: 'x' }), `${OWN}.env[0].name: Invalid value: "${name}": the operator's container reads this variable; ${USE}`], // prettier-ignore
    ),
    ...[
      'LD_PRELOAD',
      'LD_AUDIT',
      'GCONV_PATH',
      'OPENSSL_CONF',
      'PYTHONINSPECT',
      'VALUES',
      'KILL_AFTER_SECONDS',
    ].map(
      // prettier-ignore
      (name): Case => [`${name}, in a Job`, job({ env: [{ name, value: 'x' }] }), `spec.componentPodTemplates.jobs.spec.containers[0].env[0].name: Invalid value: "${name}": the operator's container reads this variable; ${USE}`], // prettier-ignore
    ),
    ['a variable of a Job', job({ env: [{ name: 'JOB_COMMAND', value: '[]' }] }), `spec.componentPodTemplates.jobs.spec.containers[0].env[0].name: Invalid value: "JOB_COMMAND": the operator's container reads this variable; ${USE}`], // prettier-ignore
    ['a variable of Redis', pod('redis', { containers: [{ name: 'queue', env: [{ name: 'REDIS_MAXMEMORY', value: '1' }] }] }), `spec.componentPodTemplates.redis.spec.containers[0].env[0].name: Invalid value: "REDIS_MAXMEMORY": the operator's container reads this variable; ${USE}`], // prettier-ignore
    ['a variable of MariaDB', pod('database', { containers: [{ name: 'database', env: [{ name: 'MARIADB_ROOT_PASSWORD', value: 'x' }] }] }), `spec.componentPodTemplates.database.spec.containers[0].env[0].name: Invalid value: "MARIADB_ROOT_PASSWORD": the operator's container reads this variable; ${USE}`], // prettier-ignore
    ['the login of the administrator', env({ valueFrom: { secretKeyRef: { name: 'demo-bench-db-root', key: 'password' } } }), `${OWN}.env[0].valueFrom.secretKeyRef.name: Invalid value: "demo-bench-db-root": names that end with -db-root are of Secrets of the operator, for its own containers; ${USE}`], // prettier-ignore
    ['all keys of the password of another site', own({ envFrom: [{ secretRef: { name: 'shop-db' } }] }), `${OWN}.envFrom[0].secretRef.name: Invalid value: "shop-db": names that end with -db are of Secrets of the operator, for its own containers; ${USE}`], // prettier-ignore
    ['a value that is a number', env({ value: 5 }), `${OWN}.env[0].value: Invalid value: "integer": ${OWN}.env[0].value in body must be of type string: "integer"`], // prettier-ignore
  ],
  mounts: [
    ...([
      ['/', '/home/frappe/frappe-bench'],
      ['/home/frappe', '/home/frappe/frappe-bench'],
      ['/home/frappe/frappe-bench/sites', '/home/frappe/frappe-bench'],
      ['/home//frappe/frappe-bench/env/', '/home/frappe/frappe-bench'],
      ['/app-operator/scripts/run.sh', '/app-operator'],
      ['/home/./frappe/frappe-bench/sites', '/home/frappe/frappe-bench'],
      ['/home/frappe/frappe-bench/.', '/home/frappe/frappe-bench'],
      ['/tmp', '/tmp'],
      ['/./tmp/', '/tmp'],
      ['/usr', '/usr'],
    ] as const).map(([mountPath, folder]): Case => [mountPath, mount({ mountPath }), `${OWN}.volumeMounts[0].mountPath: Invalid value: "${mountPath}": hides ${folder}, ${HIDES}`]), // prettier-ignore
    ...([
      ['/./app-operator', '/app-operator'],
      ['/./app-operator/scripts', '/app-operator'],
      ['/usr/lib/x86_64-linux-gnu', '/usr/lib'],
      ['/usr/local/./bin/python', '/usr/local/bin'],
      ['/etc/ld.so.preload', '/etc/ld.so.preload'],
      ['/tmp/.my.cnf', '/tmp'],
      ['/home/frappe/.pyenv', '/home/frappe'],
    ] as const).map(([mountPath, folder]): Case => [`${mountPath}, in a Job`, job({ volumeMounts: [{ name: 'a', mountPath }] }), `spec.componentPodTemplates.jobs.spec.containers[0].volumeMounts[0].mountPath: Invalid value: "${mountPath}": hides ${folder}, ${HIDES}`]), // prettier-ignore
    ...['mountPropagation', 'subPathExpr', 'recursiveReadOnly'].map(
      (field): Case => [field, mount({ mountPath: '/a', [field]: 'x' }), `${OWN}.volumeMounts[0].${field}: Forbidden: a pod template may not set this field; supported fields: name, mountPath, subPath, readOnly`], // prettier-ignore
    ),
    ['a way up', mount({ mountPath: '/a/../home' }), `${OWN}.volumeMounts[0].mountPath: Invalid value: "/a/../home": must not contain ".."`], // prettier-ignore
    ['the volume of the bench again', mount({ name: 'sites', mountPath: '/a' }), `${OWN}.volumeMounts[0].name: Invalid value: "sites": this volume is for the operator's own mounts; this container of gunicorn may mount: volumes of its templates`], // prettier-ignore
    ['the scripts, in a further container', sidecar({ volumeMounts: [{ name: 'scripts', mountPath: '/a' }] }), `${OWN}.volumeMounts[0].name: Invalid value: "scripts": this volume is for the operator's own mounts; this container of gunicorn may mount: volumes of its templates, sites, scratch`], // prettier-ignore
    ['the socket of the administrator', pod('jobs', { initContainers: [{ name: 'x', image: 'x', volumeMounts: [{ name: 'database-admin', mountPath: '/a' }] }] }), `spec.componentPodTemplates.jobs.spec.initContainers[0].volumeMounts[0].name: Invalid value: "database-admin": this volume is for the operator's own mounts; this container of jobs may mount: volumes of its templates, sites`], // prettier-ignore
    ['the data of Redis', pod('redis', { volumes: [{ name: 'a', emptyDir: {} }], containers: [{ name: 'queue', volumeMounts: [{ name: 'a', mountPath: '/data' }] }] }), `spec.componentPodTemplates.redis.spec.containers[0].volumeMounts[0].mountPath: Invalid value: "/data": hides /data, ${HIDES}`], // prettier-ignore
  ],
  volumes: [
    ...['sites', 'scratch', 'scripts'].map(
      (name): Case => [name, pod('nginx', { volumes: [{ name, emptyDir: {} }] }), `spec.componentPodTemplates.nginx.spec.volumes[0].name: Invalid value: "${name}": a volume of the operator has this name; ${USE}`], // prettier-ignore
    ),
    ['no source', volume({}), `${AT}.volumes[0]: Required value: give configMap, secret, emptyDir or persistentVolumeClaim`], // prettier-ignore
    ['a folder of the node', volume({ hostPath: { path: '/' } }), `${AT}.volumes[0].hostPath: Forbidden: a pod template may not set this field; supported fields: name, configMap, secret, emptyDir, persistentVolumeClaim`], // prettier-ignore
    ['a token', volume({ projected: { sources: [{ serviceAccountToken: {} }] } }), `${AT}.volumes[0].projected: Forbidden: a pod template may not set this field; supported fields: name, configMap, secret, emptyDir, persistentVolumeClaim`], // prettier-ignore
    ['the key of a site', volume({ secret: { secretName: 'shop-encryption-key' } }), `${AT}.volumes[0].secret.secretName: Invalid value: "shop-encryption-key": names that end with -encryption-key are of Secrets of the operator, for its own containers; ${USE}`], // prettier-ignore
    ['the data of a database', volume({ persistentVolumeClaim: { claimName: 'other-db-data' } }), `${AT}.volumes[0].persistentVolumeClaim.claimName: Invalid value: "other-db-data": names that end with -db-data are of claims of the operator, for its own containers; ${USE}`], // prettier-ignore
    ['the sites of another bench', volume({ persistentVolumeClaim: { claimName: 'other-sites' } }), `${AT}.volumes[0].persistentVolumeClaim.claimName: Invalid value: "other-sites": names that end with -sites are of claims of the operator, for its own containers; ${USE}`], // prettier-ignore
  ],
  'further containers': [
    ['the name of another component', pod('gunicorn', { containers: [{ name: 'nginx', image: 'x' }] }), `${OWN}.name: Unsupported value: "nginx": the operator's containers of gunicorn are: gunicorn; give a further container another name`], // prettier-ignore
    ['the name of an init container', pod('gunicorn', { initContainers: [{ name: 'assets', image: 'x' }] }), `${AT}.initContainers[0].name: Unsupported value: "assets": the operator's containers of gunicorn are: gunicorn; give a further container another name`], // prettier-ignore
    ['one that never ends, in a Job', pod('jobs', { containers: [{ name: 'x', image: 'x' }] }), 'spec.componentPodTemplates.jobs.spec.containers[0]: Invalid value: "x": a Job ends when its containers have ended; put it into initContainers with restartPolicy Always'], // prettier-ignore
    ['the port of gunicorn', sidecar({ ports: [{ containerPort: 8000 }] }), `${OWN}.ports[0].containerPort: Invalid value: 8000: the operator's container has this port; use another port`], // prettier-ignore
    ['the name of a port', sidecar({ ports: [{ containerPort: 1, name: 'http' }] }), `${OWN}.ports[0].name: Invalid value: "http": a port of the operator has this name; ${USE}`], // prettier-ignore
    ['a port of the node', sidecar({ ports: [{ containerPort: 1, hostPort: 1 }] }), `${OWN}.ports[0].hostPort: Forbidden: a pod template may not set this field; supported fields: containerPort, name, protocol`], // prettier-ignore
    ['rights of the node', sidecar({ securityContext: { privileged: true } }), `${OWN}.securityContext.privileged: Forbidden: a pod template may not set this field; supported fields: runAsUser, runAsGroup, readOnlyRootFilesystem, allowPrivilegeEscalation, capabilities`], // prettier-ignore
    ['root', sidecar({ securityContext: { runAsUser: 0 } }), `${OWN}.securityContext.runAsUser: Invalid value: 0: ${OWN}.securityContext.runAsUser in body should be greater than or equal to 1`], // prettier-ignore
    ['a restart policy beside the others', sidecar({ restartPolicy: 'Always' }), `${OWN}.restartPolicy: Forbidden: a pod template may not set this field; supported fields: name, image, imagePullPolicy, command, args, env, envFrom, volumeMounts, ports, resources, livenessProbe, readinessProbe, startupProbe, securityContext`], // prettier-ignore
    ['a quantity that is none', sidecar({ resources: { limits: { cpu: 'lots' } } }), `${OWN}.resources.limits.cpu: Invalid value: "lots": ${OWN}.resources.limits.cpu in body should match '^[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)(([KMGTPE]i)|[numkMGTPE]|([eE][+-]?[0-9]{1,2}))?$'`], // prettier-ignore
  ],
};

for (const [group, cases] of Object.entries(BAD)) {
  describe(`a pod template is refused by name: ${group}`, () => {
    for (const [reason, resource, message] of cases) {
      test(reason, () => {
        assert.deepEqual(messages(resource), [message]);
      });
    }
  });
}

describe('a template that is not valid', () => {
  const bad = pod('gunicorn', { containers: [{ name: 'gunicorn', command: ['sh'] }] });
  test('has the same words in the Ready condition', () => {
    assert.equal(stalled(bad), messages(bad)[0]);
  });
  test('has them also where the CRD has lost its schema', () => {
    const relative = mount({ mountPath: 'home/frappe' });
    assert.equal(stalled(relative), `${OWN}.volumeMounts[0].mountPath: Invalid value: "home/frappe": hides /home/frappe/frappe-bench, ${HIDES}`); // prettier-ignore
    const unnamed = pod('gunicorn', { containers: [{ image: 'x' }] });
    assert.equal(stalled(unnamed), `${OWN}.name: Required value`);
    const list = benchWith('gunicorn', { metadata: { labels: ['x'] } });
    assert.match(stalled(list) ?? '', /labels in body must be of type object/);
  });
  test('of a bench keeps its sites from being written', () => {
    const bench = { ...bad, status: { ready: true, observedGeneration: 1 } };
    assert.throws(
      () => kindOf(aSite()).resolve(aSite(), aReader([bench, SECRET])),
      new Stalled('InvalidSpec', 'AppBench "demo-bench" has pod templates that are not valid; see its condition Ready'), // prettier-ignore
    );
  });
  test('of a site is refused in its own condition', () => {
    const site = aSite({
      componentPodTemplates: { gunicorn: { spec: { containers: [{ name: 'nginx' }] } } },
    });
    assert.equal(stalled(site), `${OWN}.name: Unsupported value: "nginx": the operator's containers of gunicorn are: gunicorn; give a further container another name`); // prettier-ignore
    const component = withTemplates(aSite(), { nginx: {} });
    assert.match(messages(component)[0] ?? '', /components of a site are gunicorn, workerDefault/);
  });
});

describe('Jobs of a site, which log in to the database server of the bench', () => {
  const FIELDS = {
    hostAliases: [{ ip: '192.0.2.1', hostnames: ['demo-bench-db.default.svc.cluster.local'] }],
    dnsPolicy: 'Default',
    dnsConfig: { nameservers: ['192.0.2.1'] },
  };
  for (const [field, value] of Object.entries(FIELDS)) {
    test(`find it by the names of the bench: ${field}`, () => {
      const site = withTemplates(aSite(), { jobs: { spec: { [field]: value } } });
      assert.deepEqual(messages(site), [`spec.componentPodTemplates.jobs.spec.${field}: Forbidden: Jobs of a site log in to the database server of the bench; set it on the AppBench`]); // prettier-ignore
      assert.deepEqual(messages(pod('jobs', { [field]: value })), []);
    });
  }
});

test('the form of a template is checked once, however many sites ask', () => {
  let reads = 0;
  const variable = { name: 'A' };
  Object.defineProperty(variable, 'value', { enumerable: true, get: () => ((reads += 1), 'x') });
  const template = { spec: { containers: [{ name: 'gunicorn', env: [variable] }] } };
  const problems = () =>
    templateProblems({ gunicorn: template }, { group: 'app-operator.io', ofSite: true });
  assert.deepEqual(problems(), []);
  const once = reads;
  assert.ok(once > 0);
  for (let site = 0; site < 30; site += 1) problems();
  assert.equal(reads, once);
});

/** A pod as the operator makes it. */
const POD: PodJson = {
  metadata: {
    labels: { app: 'b-gunicorn', bench: 'b' },
    annotations: { 'app-operator.io/x': '1' },
  },
  spec: {
    containers: [
      {
        name: 'gunicorn',
        image: 'frappe/erpnext:v15',
        command: ['gunicorn'],
        env: [{ name: 'USER', value: 'frappe' }],
        ports: [{ containerPort: 8000 }],
        volumeMounts: [{ name: 'sites', mountPath: '/home/frappe/frappe-bench/sites' }],
      },
    ],
    volumes: [{ name: 'sites', persistentVolumeClaim: { claimName: 'b-sites' } }],
    nodeSelector: { pool: 'erp' },
    tolerations: [{ key: 'erp' }],
  },
};
const SELECTOR = { app: 'b-gunicorn', bench: 'b' };
const merged = (template: CheckedTemplate, base = POD): PodJson =>
  withComponentTemplate(base, 'gunicorn', template, SELECTOR);

/** Templates that admission accepts. */
const text = fc.constantFrom('a', 'b', 'c', 'd');
const labels = fc.dictionary(text, text, { maxKeys: 3 });
const variables = fc.uniqueArray(fc.record({ name: text, value: text }), {
  selector: ({ name }) => name,
  maxLength: 3,
});
const mounts = fc.uniqueArray(
  text.map((name) => ({ name: `v${name}`, mountPath: `/mnt/${name}` })),
  { selector: ({ mountPath }) => mountPath, maxLength: 3 },
);
const containers = fc.uniqueArray(
  fc.oneof(
    fc.record({ name: fc.constant('gunicorn'), env: variables, volumeMounts: mounts }),
    fc.record({
      name: text.map((name) => `x${name}`),
      image: text,
      command: fc.array(text, { maxLength: 2 }),
      env: variables,
      volumeMounts: mounts,
    }),
  ),
  { selector: ({ name }) => name, maxLength: 4 },
);
const VOLUMES = ['a', 'b', 'c', 'd'].map((name) => ({ name: `v${name}`, emptyDir: {} }));
const templates: fc.Arbitrary<CheckedTemplate> = fc.record({
  metadata: fc.record({ labels, annotations: labels }, { requiredKeys: [] }),
  spec: fc.record(
    {
      containers,
      volumes: fc.constant(VOLUMES),
      nodeSelector: labels,
      tolerations: fc.array(fc.record({ key: text }), { maxLength: 2 }),
      terminationGracePeriodSeconds: fc.nat({ max: 100 }),
      hostAliases: fc.constant([{ ip: '192.0.2.1', hostnames: ['a'] }]),
      topologySpreadConstraints: fc.constant([
        { topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule' as const, maxSkew: 1 },
      ]),
    },
    { requiredKeys: ['volumes'] },
  ),
});

describe('merging', () => {
  test('with nothing, or with an empty template, changes nothing', () => {
    assert.equal(withComponentTemplate(POD, 'gunicorn', undefined, SELECTOR), POD);
    for (const empty of [{}, { spec: {} }, { metadata: {}, spec: { containers: [] } }]) {
      assert.deepEqual(merged(empty), POD);
    }
  });
  test('twice is the same as once', () => {
    fc.assert(
      fc.property(templates, (template) => {
        const once = merged(template);
        assert.deepEqual(merged(template, once), once);
      }),
    );
  });
  test('one template over another is the same as the two after each other', () => {
    fc.assert(
      fc.property(templates, templates, (below, over) => {
        const both = strategicMerge(below, over) as CheckedTemplate;
        assert.deepEqual(sorted(merged(both)), sorted(merged(over, merged(below))));
      }),
    );
  });
  test('keeps what the operator has, whichever template is admitted', () => {
    fc.assert(
      fc.property(templates, (template) => {
        assert.deepEqual(messages(benchWith('gunicorn', template as Fields)), []);
        const { metadata: { labels: all = {} } = {}, spec } = merged(template);
        assert.deepEqual({ ...(all as Fields), ...(POD.metadata?.['labels'] as Fields) }, all);
        const [first] = spec['containers'] as Fields[];
        const [before] = POD.spec['containers'] as Fields[];
        for (const field of ['name', 'image', 'command', 'ports']) {
          assert.deepEqual(first?.[field], before?.[field]);
        }
        for (const field of ['env', 'volumeMounts']) {
          const [kept] = first?.[field] as Fields[];
          assert.deepEqual(kept, (before?.[field] as Fields[])[0]);
        }
        assert.deepEqual((spec['volumes'] as Fields[])[0], (POD.spec['volumes'] as Fields[])[0]);
        for (const container of (spec['containers'] as Fields[]).slice(1)) {
          assert.deepEqual(container['securityContext'], { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } }); // prettier-ignore
        }
      }),
    );
  });
  test('replaces an alternative as a whole', () => {
    const below = { env: [{ name: 'A', value: 'x' }] };
    const over = { env: [{ name: 'A', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }] };
    assert.deepEqual(strategicMerge(below, over), over);
    const probe = { readinessProbe: { exec: { command: ['x'] } } };
    const other = { readinessProbe: { tcpSocket: { port: 1 } } };
    assert.deepEqual(strategicMerge(probe, other), other);
  });
  test('keeps keys that JavaScript gives a meaning as data', () => {
    const patch = JSON.parse('{"__proto__":{"a":"1"}}') as Fields;
    assert.equal(
      JSON.stringify(strategicMerge({ b: '2' }, patch)),
      '{"b":"2","__proto__":{"a":"1"}}',
    );
    assert.equal(({} as { a?: string }).a, undefined);
  });
  test('goes from podTemplate of the bench to the template of the site', () => {
    const both = withTemplatesOf(
      {
        podTemplate: { nodeSelector: { pool: 'bench' }, labels: { a: 'bench', c: 'bench' } },
        componentPodTemplates: {
          gunicorn: {
            metadata: { labels: { a: 'bench', b: 'bench' } },
            spec: {
              tolerations: [{ key: 'bench' }],
              priorityClassName: 'bench',
              dnsPolicy: 'None',
            },
          },
        },
      },
      {
        podTemplate: { tolerations: [], nodeSelector: { disk: 'ssd' }, labels: { a: 'site' } },
        componentPodTemplates: { gunicorn: { spec: { priorityClassName: 'site' } }, jobs: {} },
      },
    );
    assert.deepEqual(both, {
      podTemplate: {
        tolerations: [],
        nodeSelector: { disk: 'ssd' },
        labels: { a: 'site', c: 'bench' },
      },
      componentPodTemplates: {
        gunicorn: {
          metadata: { labels: { b: 'bench' }, annotations: {} },
          spec: { priorityClassName: 'site', dnsPolicy: 'None' },
        },
        jobs: {},
      },
    });
  });
});

/** Lists by name: the order of what both templates add is the order in which it came. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.map(sorted).sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
  }
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, field]) => [name, sorted(field)]),
  );
}

describe('what the operator has is protected', () => {
  const ALL = corpus()
    .filter(({ resource }) => !('componentPodTemplates' in (resource.spec as Fields)))
    .filter(({ scenario }) => scenario !== 'site-pod-templates');
  const each = (
    check: (component: OwnPod, pod: ReturnType<typeof podTemplates>[number]) => void,
  ) => {
    for (const { objects } of ALL) {
      for (const template of podTemplates(objects)) {
        // The exporter has no template.
        if (template.component === 'metrics') continue;
        check(POD_COMPONENTS[podComponent(template.component) ?? 'jobs'], template);
      }
    }
  };
  test('each container, volume and port has a name that no template can take', () => {
    each((component, template) => {
      for (const { name, ports = [] } of containersOf(template)) {
        assert.ok(isOwnContainer(component, name), name);
        for (const port of ports) assert.ok(OWN_PORT_NAMES.includes(port.name), port.name);
      }
      for (const { name } of template.spec.volumes) assert.ok(OWN_VOLUMES.includes(name), name);
    });
  });
  test('each variable of a container that takes variables', () => {
    each((component, template) => {
      for (const { name, env: own = [] } of template.spec.containers) {
        for (const variable of own) {
          assert.ok(isOwnVariable(component, variable.name), `${name}: ${variable.name}`);
        }
      }
    });
  });
  test('each variable that the programs of Jobs read', () => {
    const read =
      /(?:os[.]environ(?:[.]get\(|\[|[.]pop\()|getenv\(|_env\(|[^a-z]variable\()\s*"([A-Z]\w*)"/g;
    const sources = globSync('jobs/*/*.py').filter((file) => !file.startsWith('jobs/tests/'));
    const names = new Set(
      sources.flatMap((file) =>
        [...readFileSync(file, 'utf8').matchAll(read)].map(([, name = '']) => name),
      ),
    );
    assert.ok(names.size > 60, `${names.size} variables`);
    const free = [...names].filter((name) => !isOwnVariable(POD_COMPONENTS.jobs, name));
    assert.deepEqual(free, []);
  });
  test('each folder where a volume is mounted', () => {
    const below = (folder: string, path: string) =>
      path === folder || path.startsWith(`${folder}/`);
    each((component, template) => {
      for (const { mountPath } of template.spec.containers.flatMap((one) => one.volumeMounts)) {
        const known = [...component.folders, '/tmp'];
        assert.ok(known.some((folder) => below(folder, mountPath)), mountPath); // prettier-ignore
      }
    });
  });
  test('each label and annotation', () => {
    for (const { objects, resource } of ALL) {
      const { labels: given = {} } = (resource.spec as { podTemplate?: { labels?: Fields } }).podTemplate ?? {}; // prettier-ignore
      const inherited = new Set([
        ...Object.keys(given),
        'cost-centre',
        'customer',
        'team',
        'sidecar.istio.io/inject',
      ]);
      for (const { labels: own } of podTemplates(objects)) {
        for (const key of Object.keys(own)) {
          assert.ok(inherited.has(key) || isOwnLabel(key, 'app-operator.io'), key);
        }
      }
    }
    assert.ok(isOwnAnnotation('app-operator.io/config-hash', 'app-operator.io'));
  });
});

test('a template changes the pods of its component only', () => {
  const plain = podsOf({});
  for (const [component, { label, prefix }] of Object.entries(POD_COMPONENTS)) {
    const changed = podsOf({ [component]: { metadata: { labels: { a: 'b' } } } });
    const differing = [...changed].filter(([of, json]) => json !== plain.get(of)).map(([of]) => of);
    assert.equal(differing.length, 1, component);
    assert.match(
      differing[0] ?? '',
      new RegExp(
        `-${label ?? (prefix === undefined ? 'init' : `${prefix}imports`)}$|^StatefulSet demo-bench-db$`,
      ),
    );
  }
});

test('a template is no reason for a Job to run again', () => {
  const runs = [
    podsOf({}, 'Job'),
    podsOf({ jobs: { metadata: { labels: { a: 'b' } } } }, 'Job'),
  ].map((objects) => /"app-operator.io\/run":"(\w+)"/.exec([...objects.values()].join())?.[1]);
  assert.ok(runs[0]);
  assert.equal(runs[0], runs[1]);
});

/** What makes the pods of a bench, or whole objects of a kind, as JSON. */
function podsOf(componentPodTemplates: Fields, ofKind?: string): ReadonlyMap<string, string> {
  const workers = [{ name: 'imports', queues: ['imports'] }];
  const bench = aReadyBench({ componentPodTemplates, workers });
  const kind = kindOf(bench);
  const inputs = kind.resolve(bench, aReader([bench, SECRET]));
  const objects = graphOf(kind, bench, (scope, id) =>
    kind.chart(scope, id, { resource: bench, inputs }),
  ).flatMap((stage) => stage.objects);
  const wanted = ofKind === undefined ? objects : objects.filter((one) => one.kind === ofKind);
  return new Map(
    ofKind === undefined
      ? podTemplates(wanted).map((template) => [template.of, JSON.stringify(template)])
      : wanted.map((object) => [object.metadata.name, JSON.stringify(object)]),
  );
}
