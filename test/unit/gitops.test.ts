import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { Environment } from '@marcbachmann/cel-js';
import { parse } from 'yaml';

import { DEFINITIONS } from '../../constructs/registry.js';
import type { KubeObject } from '../../constructs/kit/object.js';
import { corpus } from '../golden/corpus.js';
import { projectRoot } from '../../testbed/project-root.js';
import { FLUX_HEALTH } from '../../tools/generate/gitops.js';
import { cases, EXPECTED } from '../gitops/cases.js';

const read = (name: string): unknown =>
  parse(readFileSync(path.join(projectRoot(), 'dist/gitops', name), 'utf8'));

test('Argo CD and Flux have a health check of each kind', () => {
  const kinds = DEFINITIONS.map(({ kind }) => kind);
  const { data } = read('argocd-health.yaml') as { readonly data: object };
  assert.deepEqual(
    Object.keys(data),
    kinds.map((kind) => `resource.customizations.health.app-operator.io_${kind}`),
  );
  const { spec } = read('flux-health.yaml') as {
    readonly spec: { readonly healthCheckExprs: readonly { readonly kind: string }[] };
  };
  assert.deepEqual(
    spec.healthCheckExprs.map(({ kind }) => kind),
    kinds,
  );
});

test('the expressions of Flux tell what works from what has failed', () => {
  const environment = new Environment({ unlistedVariablesAreDyn: true });
  const programs = Object.entries({
    InProgress: FLUX_HEALTH.inProgress,
    Failed: FLUX_HEALTH.failed,
    Current: FLUX_HEALTH.current,
  }).map(([health, text]) => [health, environment.parse(text)] as const);
  const all = new Map(cases().map(({ name, object }) => [name, object]));
  for (const [name, { flux }] of Object.entries(EXPECTED)) {
    const object = all.get(name);
    assert.ok(object, name);
    const found = programs.find(([, program]) => program({ status: object.status }) === true);
    assert.equal(found?.[0], flux, name);
  }
});

/** What each tool takes for a part of what it applied, and prunes once it is not in Git. */
const TRACKED: Readonly<Record<string, (metadata: KubeObject['metadata']) => boolean>> = {
  'Argo CD by label': ({ labels }) => labels?.['app.kubernetes.io/instance'] !== undefined,
  'Argo CD by annotation': ({ annotations }) =>
    annotations?.['argocd.argoproj.io/tracking-id'] !== undefined,
  'Flux by label': ({ labels = {} }) =>
    Object.keys(labels).some((key) => /^(kustomize|helm)\.toolkit\.fluxcd\.io\//.test(key)),
  'Helm by annotation': ({ labels, annotations }) =>
    annotations?.['meta.helm.sh/release-name'] !== undefined ||
    labels?.['app.kubernetes.io/managed-by'] === 'Helm',
};

describe('an object that outlives its bench or site', () => {
  // No tool prunes an object with an owner. Data under Delete loses it when the policy changes.
  const kept = corpus().flatMap(({ scenario, objects }) =>
    objects
      .filter(
        ({ metadata: { ownerReferences = [], labels = {} } }) =>
          ownerReferences.length === 0 || labels['app-operator.io/retain'] !== undefined,
      )
      .map((object) => ({ scenario, object })),
  );

  test('is of one of these kinds', () => {
    assert.deepEqual([...new Set(kept.map(({ object }) => object.kind))].sort(), [
      ...['Database', 'DatabaseRole', 'Grant', 'NetworkPolicy', 'PersistentVolumeClaim'],
      ...['Secret', 'Service', 'StatefulSet', 'User'],
    ]);
  });

  for (const [tool, tracks] of Object.entries(TRACKED)) {
    test(`is not tracked: ${tool}`, () => {
      const tracked = kept.filter(({ object }) => tracks(object.metadata));
      assert.deepEqual(
        tracked.map(({ scenario, object: { kind, metadata } }) => [scenario, kind, metadata.name]),
        [],
      );
    });
  }
});
