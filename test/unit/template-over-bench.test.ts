import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import type { AppBench } from '../../constructs/api/bench.js';
import { Stalled } from '../../constructs/kit/errors.js';
import { site as siteKind } from '../../constructs/kinds/site/index.js';
import { siteModelOf } from '../../constructs/frappe/site-model.js';
import { aReader, aReadyBench, aSecret, aSite } from '../golden/builders.js';

type Fields = Readonly<Record<string, unknown>>;

const COMPONENT = 'spec.componentPodTemplates.gunicorn.spec';
const SECRET_ENV = [{ name: 'TOKEN', valueFrom: { secretKeyRef: { name: 'vault', key: 'k' } } }];
const FIELD_ENV = [{ name: 'POD', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }];

const template = (spec: Fields, component = 'gunicorn') => ({
  componentPodTemplates: { [component]: { spec } },
});
/** A bench whose template gives a Secret, a ConfigMap and a claim. */
const BENCH_SPEC = {
  volumes: [
    { name: 'vault', secret: { secretName: 'vault' } },
    { name: 'settings', configMap: { name: 'agent' } },
    { name: 'reports', persistentVolumeClaim: { claimName: 'reports' } },
    { name: 'work', emptyDir: {} },
    { name: 'free', emptyDir: {} },
  ],
  containers: [
    { name: 'gunicorn', env: SECRET_ENV },
    { name: 'agent', image: 'agent:1', env: SECRET_ENV, volumeMounts: [{ name: 'work', mountPath: '/w' }] }, // prettier-ignore
    { name: 'all', image: 'agent:1', envFrom: [{ secretRef: { name: 'vault' } }] },
    { name: 'file', image: 'agent:1', volumeMounts: [{ name: 'settings', mountPath: '/s' }] },
    { name: 'plain', image: 'agent:1', env: FIELD_ENV, volumeMounts: [{ name: 'free', mountPath: '/f' }] }, // prettier-ignore
  ],
  initContainers: [{ name: 'fetch', image: 'agent:1', env: SECRET_ENV }],
};

function refused(spec: Fields, component?: string): readonly string[] {
  const bench: AppBench = aReadyBench(template(BENCH_SPEC, component));
  const site = aSite(template(spec, component));
  const reader = aReader([bench, site, aSecret('demo-bench-redis-auth')]);
  const messageOf = (call: () => unknown): string => {
    try {
      call();
      return '';
    } catch (error) {
      if (error instanceof Stalled) return error.message;
      throw error;
    }
  };
  const message = messageOf(() => siteKind.resolve(site, reader));
  const metadata = { namespace: 'default' };
  const inJobs = messageOf(() => {
    try {
      siteModelOf({ metadata, spec: { siteRef: { name: 'demo-site' } } }, reader);
    } catch (error) {
      if (error instanceof Stalled) throw error;
    }
  });
  assert.equal(inJobs !== '', message !== '', 'Jobs in the site are refused too');
  return message === ''
    ? []
    : message.split('; spec.').map((text, i) => (i ? `spec.${text}` : text));
}

const GETS = (name: string): string =>
  `Forbidden: container "${name}" of the bench's template gets a Secret, a ConfigMap or a claim; a site may set: resources`;

describe("a container of the bench's template that gets a Secret, a ConfigMap or a claim", () => {
  const CHANGES: Readonly<Record<string, unknown>> = {
    image: 'evil/steal:1',
    command: ['sh', '-c', 'env'],
    args: ['--to=evil.example'],
    env: [{ name: 'TARGET', value: 'evil.example' }],
    envFrom: [{ configMapRef: { name: 'mine' } }],
    livenessProbe: { exec: { command: ['sh', '-c', 'env'] } },
    securityContext: { readOnlyRootFilesystem: false },
  };
  for (const [field, value] of Object.entries(CHANGES)) {
    test(`is not changed by a site: ${field}`, () => {
      const containers = [{ name: 'agent', [field]: value }];
      assert.deepEqual(refused({ containers }), [`${COMPONENT}.containers[0].${field}: ${GETS('agent')}`]); // prettier-ignore
    });
  }
  for (const name of ['all', 'file']) {
    test(`is not changed by a site, whichever way it gets it: ${name}`, () => {
      const containers = [{ name, image: 'evil/steal:1' }];
      assert.deepEqual(refused({ containers }), [
        `${COMPONENT}.containers[0].image: ${GETS(name)}`,
      ]);
    });
  }
  test('is not changed by a site: an init container', () => {
    const initContainers = [{ name: 'fetch', image: 'evil/steal:1' }];
    assert.deepEqual(refused({ initContainers }), [`${COMPONENT}.initContainers[0].image: ${GETS('fetch')}`]); // prettier-ignore
  });
  test('is not changed in Jobs either', () => {
    const initContainers = [{ name: 'fetch', command: ['env'] }];
    const bench = { ...BENCH_SPEC, containers: [] };
    const site = aSite(template({ initContainers }, 'jobs'));
    const reader = aReader([aReadyBench(template(bench, 'jobs')), site]);
    assert.throws(() => siteKind.resolve(site, reader), /initContainers\[0\]\.command: Forbidden/);
  });
  test('gets no volume of the site in place of one that it mounts', () => {
    const volumes = [{ name: 'work', configMap: { name: 'mine' } }];
    assert.deepEqual(refused({ volumes }), [
      `${COMPONENT}.volumes[0].name: Forbidden: a container of the bench's template mounts its volume "work" beside a Secret, a ConfigMap or a claim; give the site's volume another name`,
    ]);
  });
  test('may get other resources', () => {
    const containers = [{ name: 'agent', resources: { requests: { cpu: '1' } } }];
    assert.deepEqual(refused({ containers }), []);
  });
});

describe("a container of a site mounts no volume of the bench's template", () => {
  for (const name of ['vault', 'settings', 'reports', 'work']) {
    for (const container of ['mine', 'gunicorn', 'plain']) {
      test(`${name}, in container ${container}`, () => {
        const image = container === 'gunicorn' ? {} : { image: 'evil/x:1' };
        const volumeMounts = [{ name, mountPath: '/v' }];
        assert.deepEqual(refused({ containers: [{ name: container, ...image, volumeMounts }] }), [
          `${COMPONENT}.containers[0].volumeMounts[0].name: Forbidden: volume "${name}" is of the bench's template; a site may mount volumes of its own template`,
        ]);
      });
    }
  }
  test('but its own ones, and the sites', () => {
    const volumes = [{ name: 'mine', emptyDir: {} }];
    const volumeMounts = [{ name: 'mine', mountPath: '/v' }, { name: 'sites', mountPath: '/sites' }]; // prettier-ignore
    assert.deepEqual(refused({ volumes, containers: [{ name: 'mine', image: 'x', volumeMounts }] }), []); // prettier-ignore
  });
});

test("a container of the bench's template without references is the site's to change", () => {
  const containers = [{ name: 'plain', image: 'other:2', env: [{ name: 'LEVEL', value: 'debug' }] }]; // prettier-ignore
  const volumes = [{ name: 'free', emptyDir: { sizeLimit: '1Gi' } }];
  assert.deepEqual(refused({ containers, volumes }), []);
});
test('variables of the operator’s own container are still set', () => {
  assert.deepEqual(
    refused({ containers: [{ name: 'gunicorn', env: [{ name: 'LEVEL', value: 'debug' }] }] }),
    [],
  );
});
