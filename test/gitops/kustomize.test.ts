import assert from 'node:assert/strict';
import { mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, test } from 'node:test';
import { parseAllDocuments, stringify } from 'yaml';

import { OPERATOR } from '../../constructs/kit/operator-identity.js';
import { IMAGE_REPOSITORY } from '../../constructs/project.js';
import type { KubeObject } from '../../constructs/kit/object.js';
import { ensureBinaries } from '../../testbed/controlplane/binaries.js';
import { run } from '../../testbed/controlplane/run.js';
import { projectRoot } from '../../testbed/project-root.js';

const BASE = path.join(projectRoot(), 'dist');

function objectsIn(yaml: string): KubeObject[] {
  return parseAllDocuments(yaml).map((document) => document.toJS() as KubeObject);
}

async function kustomize(folder: string): Promise<readonly KubeObject[]> {
  const { kubectl } = await ensureBinaries({ names: ['kubectl'] });
  return objectsIn(await run(kubectl, ['kustomize', folder]));
}

/** By kind, namespace and name: kustomize sorts the objects. */
function byName(objects: readonly KubeObject[]): object {
  return Object.fromEntries(
    objects.map((object) => {
      const { kind, metadata } = object;
      return [`${kind} ${metadata.namespace ?? ''}/${metadata.name}`, object];
    }),
  );
}

describe('kubectl kustomize', () => {
  test('makes the objects of dist/install.yaml of the base', async () => {
    const manifest = await readFile(path.join(BASE, 'install.yaml'), 'utf8');
    assert.deepEqual(byName(await kustomize(BASE)), byName(objectsIn(manifest)));
  });

  test('makes an overlay with another image, namespace and number of replicas', async () => {
    const folder = await realpath(await mkdtemp(path.join(tmpdir(), 'app-operator-overlay-')));
    try {
      const overlay = {
        // A kustomization refers to folders by relative paths.
        resources: [path.relative(folder, BASE)],
        namespace: 'operators',
        images: [{ name: IMAGE_REPOSITORY, newName: 'registry.example.com/app-operator' }],
        replicas: [{ name: OPERATOR.deployment, count: 2 }],
        patches: [
          {
            target: { kind: 'ValidatingAdmissionPolicyBinding', name: 'app-operator-limits-.*' },
            patch: '- op: replace\n  path: /spec/paramRef/namespace\n  value: operators',
          },
        ],
      };
      await writeFile(path.join(folder, 'kustomization.yaml'), stringify(overlay));
      const objects = await kustomize(folder);
      const text = JSON.stringify(objects);
      assert.ok(text.includes('"registry.example.com/app-operator:'));
      assert.ok(!text.includes(IMAGE_REPOSITORY));
      const deployment = objects.find(({ kind }) => kind === 'Deployment') as unknown as {
        readonly spec: { readonly replicas: number };
      };
      assert.equal(deployment.spec.replicas, 2);
      // Webhooks and bindings follow; only the exemption of the operator's namespace keeps its name.
      const named = objects
        .filter(({ kind }) => kind !== 'ValidatingWebhookConfiguration')
        .filter(({ kind }) => kind !== 'MutatingWebhookConfiguration');
      assert.ok(!JSON.stringify(named).includes(`"${OPERATOR.namespace}"`));
      assert.equal(text.match(/"service":{"name":"[^"]+","namespace":"operators"/g)?.length, 2);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
