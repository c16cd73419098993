import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, suite, test } from 'node:test';

import { buildImage, fullReference } from '../../../testbed/node/oci.js';

interface Descriptor {
  readonly digest: string;
  readonly size: number;
  readonly annotations?: Readonly<Record<string, string>>;
}

suite('an OCI archive', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'app-operator-oci-'));
  const layout = path.join(folder, 'layout');
  after(() => rmSync(folder, { recursive: true }));

  before(async () => {
    const layers = ['one', 'two'].map((name) => path.join(folder, name));
    for (const layer of layers) {
      mkdirSync(path.join(layer, 'bin'), { recursive: true });
      writeFileSync(path.join(layer, 'bin', path.basename(layer)), layer, { mode: 0o755 });
    }
    const archive = path.join(folder, 'image.tar');
    const config = { User: '1001:0', Entrypoint: ['/bin/one'] };
    await buildImage({ name: 'one:1', aliases: ['x/one:2'], layers, config }, archive);
    mkdirSync(layout);
    execFileSync('tar', ['-xf', archive, '-C', layout]);
  });

  test('names the image by each of its references', () => {
    const names = index().map(({ annotations }) => annotations?.['io.containerd.image.name']);
    assert.deepEqual(names, ['docker.io/library/one:1', 'docker.io/x/one:2']);
  });

  test('holds each blob under the digest and with the size that name it', () => {
    const [first] = index();
    assert.ok(first);
    const manifest = blob<{ config: Descriptor; layers: readonly Descriptor[] }>(first);
    const config = blob<{ config: unknown; rootfs: { diff_ids: readonly string[] } }>(
      manifest.config,
    );
    assert.deepEqual(config.config, { User: '1001:0', Entrypoint: ['/bin/one'] });
    assert.deepEqual(
      config.rootfs.diff_ids,
      manifest.layers.map(({ digest }) => digest),
    );
    assert.equal(manifest.layers.length, 2);
    for (const layer of manifest.layers) content(layer);
  });

  test('keeps modes, and leaves the folder of a layer itself out', () => {
    const [first] = index();
    assert.ok(first);
    const { layers } = blob<{ layers: readonly Descriptor[] }>(first);
    const lists = layers.map((layer) =>
      execFileSync('tar', ['-tvf', pathOf(layer)], { encoding: 'utf8' })
        .trim()
        .split('\n')
        .map((line) => [line.slice(0, 10), line.split(' ').at(-1)]),
    );
    assert.deepEqual(lists, [
      [
        ['drwxr-xr-x', 'bin/'],
        ['-rwxr-xr-x', 'bin/one'],
      ],
      [
        ['drwxr-xr-x', 'bin/'],
        ['-rwxr-xr-x', 'bin/two'],
      ],
    ]);
  });

  test('a short reference means Docker Hub', () => {
    assert.equal(fullReference('frappe/erpnext:v15'), 'docker.io/frappe/erpnext:v15');
    assert.equal(fullReference('registry.k8s.io/pause:3'), 'registry.k8s.io/pause:3');
    assert.equal(fullReference('localhost/x:1'), 'localhost/x:1');
    assert.equal(fullReference('host:5000/x:1'), 'host:5000/x:1');
  });

  function index(): readonly Descriptor[] {
    const text = readFileSync(path.join(layout, 'index.json'), 'utf8');
    return (JSON.parse(text) as { manifests: readonly Descriptor[] }).manifests;
  }

  function blob<T>(descriptor: Descriptor): T {
    return JSON.parse(content(descriptor).toString()) as T;
  }

  function content(descriptor: Descriptor): Buffer {
    const bytes = readFileSync(pathOf(descriptor));
    assert.equal(bytes.length, descriptor.size);
    const digest = createHash('sha256').update(bytes).digest('hex');
    assert.equal(descriptor.digest, `sha256:${digest}`);
    return bytes;
  }

  function pathOf({ digest }: Descriptor): string {
    return path.join(layout, 'blobs', digest.replace(':', path.sep));
  }
});
