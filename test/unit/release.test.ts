import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { parse, parseAllDocuments } from 'yaml';

import { OPERATOR } from '../../constructs/kit/operator-identity.js';
import {
  CHART_REPOSITORY,
  IMAGE_REPOSITORY,
  PROJECT,
  SOURCE_URL,
} from '../../constructs/project.js';
import type { KubeObject } from '../../constructs/kit/object.js';
import { DEFINITIONS } from '../../constructs/registry.js';
import { VERSION } from '../../runner/kit/version.js';
import { projectRoot } from '../../testbed/project-root.js';
import { releaseOf } from '../../tools/generate/packages/changelog.js';
import { ACCEPTED, Findings } from '../../tools/release/accepted.js';
import { baseOf } from '../../tools/release/image.js';
import { krewManifest } from '../../tools/release/krew.js';
import { bundleFiles } from '../../tools/release/olm-bundle.js';
import { withBase, withValidIds } from '../../tools/release/sbom.js';
import { strict } from '../../tools/release/schemas.js';
import { install, the } from './install-manifest.js';

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

describe('the OLM bundle', () => {
  const files = bundleFiles({ root: ROOT, version: VERSION, date: '2026-01-02' });
  const parsed = (name: string): Record<string, unknown> =>
    parse(files.get(name) ?? '') as Record<string, unknown>;
  const csv = parsed('manifests/app-operator.clusterserviceversion.yaml') as unknown as {
    readonly metadata: { readonly annotations: Readonly<Record<string, string>> };
    readonly spec: {
      readonly customresourcedefinitions: { readonly owned: readonly { readonly name: string }[] };
      readonly install: {
        readonly spec: Readonly<
          Record<
            'clusterPermissions' | 'permissions',
            readonly { readonly rules: unknown; readonly serviceAccountName: string }[]
          >
        > & { readonly deployments: readonly { readonly name: string; readonly spec: unknown }[] };
      };
    };
  };
  const installed = install({ image: `${IMAGE_REPOSITORY}:${VERSION}`, webhooks: false });

  test('gives the operator the rights and the Deployment of an installation without webhooks', () => {
    const { clusterPermissions, permissions, deployments } = csv.spec.install.spec;
    const rules = (kind: string, name: string) => the(installed, kind, name).rules;
    const serviceAccountName = OPERATOR.serviceAccount;
    assert.deepEqual(clusterPermissions, [
      { serviceAccountName, rules: rules('ClusterRole', OPERATOR.managerRole) },
    ]);
    assert.deepEqual(permissions, [{ serviceAccountName, rules: rules('Role', OPERATOR.ownRole) }]);
    const [deployment] = deployments;
    assert.deepEqual(deployment?.spec, the(installed, 'Deployment', OPERATOR.deployment).spec);
  });

  test('owns each CRD, has it, and an example of its kind', () => {
    const names = csv.spec.customresourcedefinitions.owned.map(({ name }) => name);
    assert.equal(names.length, DEFINITIONS.length);
    for (const name of names) {
      assert.deepEqual(parsed(`manifests/${name}.yaml`), parse(read(`dist/crds/${name}.yaml`)));
    }
    const examples = JSON.parse(csv.metadata.annotations['alm-examples'] ?? '') as KubeObject[];
    assert.deepEqual(
      examples.map(({ kind }) => kind),
      DEFINITIONS.map(({ kind }) => kind),
    );
  });

  test('leaves nothing of an installation out', () => {
    const inCsv = [
      'Namespace',
      'ServiceAccount',
      'Deployment',
      'RoleBinding',
      'ClusterRoleBinding',
    ];
    const rest = installed.filter(
      ({ kind, metadata }) =>
        !inCsv.includes(kind) &&
        metadata.name !== OPERATOR.managerRole &&
        metadata.name !== OPERATOR.ownRole,
    );
    assert.equal(
      [...files.keys()].filter((name) => name.startsWith('manifests/')).length,
      rest.length + 1,
    );
  });
});

test('the manifest of the plug-in names the archive and its checksum', () => {
  const manifest = parse(krewManifest('1.2.3', 'a.tar.gz', 'abc')) as {
    readonly spec: {
      readonly version: string;
      readonly platforms: readonly Readonly<Record<string, unknown>>[];
    };
  };
  const [platform] = manifest.spec.platforms;
  assert.equal(manifest.spec.version, 'v1.2.3');
  assert.equal(platform?.['uri'], `${SOURCE_URL}/releases/download/v1.2.3/a.tar.gz`);
  assert.equal(platform['sha256'], 'abc');
  const { bin } = JSON.parse(read('package.json')) as {
    readonly bin: Readonly<Record<string, string>>;
  };
  assert.equal(platform['bin'], bin['kubectl-appbench']);
});

describe('the SBOM', () => {
  test('has identifiers that SPDX allows', () => {
    assert.equal(withValidIds('"SPDXRef-a_b" "a_b"'), '"SPDXRef-a-b" "a_b"');
  });

  test('names the base image by digest', () => {
    const document = {
      creationInfo: {},
      documentDescribes: ['r'],
      packages: [],
      relationships: [],
    };
    const { packages, relationships } = withBase(document, 'node:24@sha256:ab');
    assert.deepEqual(
      packages.map(({ name, versionInfo }) => [name, versionInfo]),
      [['node:24', 'sha256:ab']],
    );
    assert.deepEqual(relationships, [
      {
        spdxElementId: 'r',
        relationshipType: 'DESCENDANT_OF',
        relatedSpdxElement: 'SPDXRef-Base-Image',
      },
    ]);
  });
});

test('schemas refuse unknown fields, but not where Kubernetes keeps them', () => {
  const open = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  assert.deepEqual(
    strict({
      type: 'object',
      properties: {
        port: { 'x-kubernetes-int-or-string': true },
        any: { ...open, properties: {} },
        nullable: { type: 'string', nullable: true },
      },
    }),
    {
      type: 'object',
      additionalProperties: false,
      properties: {
        port: { type: ['integer', 'string'] },
        any: { type: 'object', properties: {} },
        nullable: { type: ['string', 'null'] },
      },
    },
  );
});

describe('what linters report', () => {
  const accepted = [{ tool: 'lint', finding: /one/, why: 'a test' }];

  test('is kept where the list has it, and refused elsewhere', () => {
    const findings = new Findings(accepted);
    assert.throws(() => findings.add('lint', ['one', 'two']), /^Error: lint:\n {2}two$/);
    assert.throws(() => findings.add('other', ['one']), /other/);
    assert.equal(findings.add('lint', ['one']), ', 1 kept');
  });

  test('must match each entry of the list, once its tool has run', () => {
    const findings = new Findings(accepted);
    assert.deepEqual(findings.unused(), []);
    findings.add('lint', []);
    assert.deepEqual(findings.unused(), accepted);
    findings.add('lint', ['one']);
    assert.deepEqual(findings.unused(), []);
  });

  test('is kept for a reason', () => {
    for (const { why } of ACCEPTED) assert.match(why, /^[a-z].{20,}[^.]$/);
  });
});

test('the base of kustomizations is the install manifest', () => {
  const { resources } = parse(read('dist/kustomization.yaml')) as {
    readonly resources: readonly string[];
  };
  assert.deepEqual(resources, ['install.yaml']);
  assert.ok(parseAllDocuments(read('dist/install.yaml')).length > 10);
});
