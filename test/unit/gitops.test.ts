import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { Environment } from '@marcbachmann/cel-js';
import { parse } from 'yaml';

import { DEFINITIONS } from '../../constructs/registry.js';
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
