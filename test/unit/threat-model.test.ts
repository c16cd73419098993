import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { MANAGED_BY_LABEL } from '../../constructs/kit/labels.js';
import { StatefulSet } from '../../constructs/kit/object-kind.js';
import { admit } from '../../constructs/kit/schema/admit.js';
import { DEFINITIONS } from '../../constructs/registry.js';
import { watchConditions } from '../../runner/cache/watch-conditions.js';
import { aReader, aReadyBench } from '../golden/builders.js';
import { podTemplates } from '../golden/corpus.js';
import { graphOf, kindOf } from '../golden/outcome.js';
import { aBench, aSite, type Manifest, minimal } from './schema-manifests.js';

function admitted(manifest: Manifest) {
  const definition = DEFINITIONS.find(({ kind }) => kind === manifest.kind);
  assert.ok(definition);
  return admit(definition, manifest);
}

describe('a reference to another namespace is refused', () => {
  const PATHS = ['../t2/b', 't2/b', '/api/v1/namespaces/t2/secrets/b', '..', 'b?x=y', 'b%2Fc'];
  const references: readonly (readonly [string, (name: string) => Manifest])[] = [
    ['spec.benchRef.name', (name) => aSite({ benchRef: { name } })],
    ['spec.adminPasswordSecretRef.name', (name) => aSite({ adminPasswordSecretRef: { name } })],
    ['spec.siteRef.name', (name) => minimal('SiteJob', { siteRef: { name } })],
    ['spec.siteRef.name', (name) => minimal('SiteUser', { siteRef: { name } })],
    [
      'spec.destination.pvc.claimName',
      (name) => minimal('SiteBackup', { destination: { pvc: { claimName: name } } }),
    ],
  ];
  for (const [path, manifest] of references) {
    test(`${path} of ${manifest('x').kind}`, () => {
      assert.deepEqual(admitted(manifest('b')).problems, []);
      for (const name of PATHS) {
        const problems = admitted(manifest(name)).problems.map((problem) => problem.path);
        assert.ok(problems.includes(path), `${name}: ${problems.join(', ')}`);
      }
    });
  }
  test('and a namespace beside the name is an unknown field', () => {
    const { pruned } = admitted(aSite({ benchRef: { name: 'b', namespace: 't2' } }));
    assert.deepEqual(pruned, ['spec.benchRef.namespace']);
  });
});

test('fields of pods that share the node are unknown to every schema', () => {
  const fields = { privileged: true, hostPID: true, hostNetwork: true, hostPath: { path: '/' } };
  const { pruned } = admitted(aBench({ security: fields, podTemplate: fields }));
  assert.deepEqual(
    [...pruned].sort(),
    ['podTemplate', 'security']
      .flatMap((part) => Object.keys(fields).map((field) => `spec.${part}.${field}`))
      .sort(),
  );
});

/** The pods of a bench with a pod template. */
function podsWith(podTemplate: object) {
  const bench = aReadyBench({ podTemplate }, { name: 'b', namespace: 'n' });
  const kind = kindOf(bench);
  const inputs = kind.resolve(bench, aReader([bench]));
  const tree = graphOf(kind, bench, (scope, id) =>
    kind.chart(scope, id, { resource: bench, inputs }),
  );
  return podTemplates(tree.flatMap(({ objects }) => objects));
}

test('labels of a user never replace those of the operator', () => {
  const plain = podsWith({});
  const owned = new Set(plain.flatMap(({ labels }) => Object.keys(labels)));
  // A default: with strict mTLS, Jobs have to be in the mesh.
  owned.delete('sidecar.istio.io/inject');
  assert.ok(owned.has(MANAGED_BY_LABEL));
  const forged = Object.fromEntries([...owned].map((key) => [key, 'forged']));
  const pods = podsWith({ labels: { ...forged, free: 'yes' } });
  assert.equal(pods.length, plain.length);
  for (const [index, { labels, of }] of pods.entries()) {
    assert.equal(labels['free'], 'yes', of);
    for (const [key, value] of Object.entries(plain[index]?.labels ?? {})) {
      assert.equal(labels[key], value, `${of}: ${key}`);
    }
  }
});

test('keys that JavaScript gives a meaning are data in an affinity', () => {
  const affinity = JSON.parse(
    '{"nodeAffinity":{"__proto__":{"a":"1"},"constructor":{"prototype":{"b":"2"}},"toString":"x"}}',
  ) as object;
  const { object, problems } = admitted(aBench({ podTemplate: { affinity } }));
  assert.deepEqual(problems, []);
  const text = JSON.stringify(affinity);
  const { podTemplate } = object.spec as { podTemplate: { affinity: object } };
  assert.equal(JSON.stringify(podTemplate.affinity), text);
  for (const { spec } of podsWith({ affinity })) {
    if (spec['affinity'] === undefined) continue;
    assert.ok(JSON.stringify(spec['affinity']).includes('"constructor":{"prototype":{"b":"2"}}'));
  }
  assert.equal(({} as { a?: string }).a, undefined);
});

describe('a watch that does not work is named in status', () => {
  const broken = { kind: StatefulSet, message: 'x', brokenMs: 31_000 };
  test('soon where the right is missing, with what to do', () => {
    const [condition, ...more] = watchConditions([StatefulSet], [{ ...broken, forbidden: true }]);
    assert.deepEqual(more, []);
    assert.equal(condition?.type, 'WatchBroken');
    assert.equal(condition.reason, 'Forbidden');
    assert.match(condition.message, /StatefulSet: the operator may not watch .* apply the install/);
  });
  test('later after other errors, and of kinds that the resource depends on only', () => {
    assert.deepEqual(watchConditions([StatefulSet], [{ ...broken, forbidden: false }]), []);
    const long = { ...broken, forbidden: false, brokenMs: 301_000 };
    assert.equal(watchConditions([StatefulSet], [long])[0]?.reason, 'Error');
    assert.deepEqual(watchConditions([], [long]), []);
  });
});
