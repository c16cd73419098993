import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { parse, parseAllDocuments } from 'yaml';

import { CHART_REPOSITORY, IMAGE_REPOSITORY, PROJECT } from '../../constructs/project.js';
import { DEFINITIONS } from '../../constructs/registry.js';
import { VERSION } from '../../runner/kit/version.js';
import { projectRoot } from '../../testbed/project-root.js';
import { releaseOf } from '../../tools/generate/chart/changelog.js';
import { baseOf } from '../../tools/release/image.js';

const ROOT = projectRoot();
const read = (file: string): string => readFileSync(path.join(ROOT, file), 'utf8');
const WORKFLOWS = '.github/workflows';

interface Workflow {
  readonly permissions: Readonly<Record<string, string>>;
  readonly jobs: Readonly<
    Record<string, { readonly steps: readonly { readonly uses?: string; readonly run?: string }[] }>
  >;
}
const workflows = (): readonly (readonly [string, Workflow])[] =>
  readdirSync(path.join(ROOT, WORKFLOWS)).map(
    (name) => [name, parse(read(`${WORKFLOWS}/${name}`)) as Workflow] as const,
  );

describe('the workflows', () => {
  test('use actions by commit, each with its version, and may only read unless a job says more', () => {
    for (const [name, { permissions, jobs }] of workflows()) {
      assert.deepEqual(permissions, { contents: 'read' }, name);
      const uses = Object.values(jobs).flatMap(({ steps }) =>
        steps.flatMap((step) => step.uses ?? []),
      );
      assert.ok(uses.length > 0);
      for (const action of uses) assert.match(action, /^actions\/[a-z-]+@[0-9a-f]{40}$/);
      const versions = read(`${WORKFLOWS}/${name}`).match(/uses: \S+@\S+ # v\d+\.\d+\.\d+$/gm);
      assert.equal(versions?.length, uses.length, name);
    }
  });

  test('run scripts that package.json has', () => {
    const { scripts } = JSON.parse(read('package.json')) as {
      readonly scripts: Readonly<Record<string, string>>;
    };
    const runs = workflows().flatMap(([, { jobs }]) =>
      Object.values(jobs).flatMap(({ steps }) => steps.flatMap(({ run }) => run ?? [])),
    );
    const names = runs.flatMap((run) =>
      [...run.matchAll(/npm run (?:-s )?(\S+)/g)].map(([, name = '']) => name),
    );
    assert.deepEqual(
      names.filter((name) => scripts[name] === undefined),
      [],
    );
    assert.ok(names.includes('release'));
  });

  test('log in to the registry of the project', () => {
    assert.ok(read(`${WORKFLOWS}/release.yaml`).includes(`docker login ${PROJECT.registry} `));
  });
});

describe('names of the project', () => {
  test('stand in one file of the code', () => {
    const folders = ['cli', 'constructs', 'runner', 'tools', 'testbed'];
    const files = folders.flatMap((folder) =>
      readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.ts'))
        .map((name) => path.join(folder, name)),
    );
    const names = new RegExp(`(${PROJECT.registry}|${PROJECT.host})/${PROJECT.owner}/`);
    assert.deepEqual(
      files.filter((file) => names.test(read(file))),
      [],
    );
    assert.equal(IMAGE_REPOSITORY, `${PROJECT.registry}/${PROJECT.owner}/${PROJECT.name}`);
    assert.equal(CHART_REPOSITORY, `${PROJECT.registry}/${PROJECT.owner}/charts`);
  });

  test('are in no page as if they could be used: nothing is published', () => {
    const pages = readdirSync(path.join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.md'))
      .filter((name) => !name.startsWith('adr/'));
    const commands = pages.flatMap((name) =>
      [...read(`docs/${name}`).matchAll(/^```sh\n([\s\S]*?)^```$/gm)]
        .filter(([, text = '']) => text.includes(`${PROJECT.registry}/${PROJECT.owner}`))
        .map(() => name),
    );
    assert.deepEqual(commands, []);
  });

  test('the Dockerfile has its base by digest', () => {
    assert.match(baseOf(read('Dockerfile')), /^node:24-\S+@sha256:[0-9a-f]{64}$/);
    assert.throws(() => baseOf('ARG NODE_IMAGE=node:24\n'), /not an image by digest/);
  });
});

describe('the changelog', () => {
  const text =
    '# C\n\n## Unreleased\n\n- x\n\n## 1.0.0 - 2026-01-02\n\n### Added\n\n- A [page](docs/a.md) on `b`.\n\n### Fixed\n\n- C.\n\n## 0.9.0 - 2026-01-01\n\n- y\n';

  test('gives the date and the changes of a version', () => {
    assert.deepEqual(releaseOf(text, '1.0.0'), {
      date: '2026-01-02',
      changes: [
        { kind: 'added', description: 'A page on b.' },
        { kind: 'fixed', description: 'C.' },
      ],
    });
  });

  test('needs a section with a date', () => {
    assert.throws(() => releaseOf(text, '2.0.0'), /CHANGELOG.md: no section of 2.0.0 with a date/);
  });
});

test('the chart has the annotations of Artifact Hub', () => {
  const chart = parse(read('dist/chart/Chart.yaml')) as {
    readonly annotations: Readonly<Record<string, string>>;
  };
  const list = (name: string): readonly Readonly<Record<string, string>>[] =>
    parse(chart.annotations[`artifacthub.io/${name}`] ?? '') as readonly Record<string, string>[];
  const kinds = DEFINITIONS.map(({ kind }) => kind);
  assert.deepEqual(
    list('crds').map(({ kind }) => kind),
    kinds,
  );
  assert.deepEqual(
    list('crdsExamples').map(({ kind }) => kind),
    kinds,
  );
  assert.equal(list('images')[0]?.['image'], `${IMAGE_REPOSITORY}:${VERSION}`);
  assert.ok(list('changes').length > 0);
});

test('the base of kustomizations is the install manifest', () => {
  const { resources } = parse(read('dist/kustomization.yaml')) as {
    readonly resources: readonly string[];
  };
  assert.deepEqual(resources, ['install.yaml']);
  assert.ok(parseAllDocuments(read('dist/install.yaml')).length > 10);
});
