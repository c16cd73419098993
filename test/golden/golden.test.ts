import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { suite, test } from 'node:test';
import { assertGolden, diff } from './compare.js';
import { outcomesOf, type Outcome } from './outcome.js';
import { NGINX_CONF, renderObjects, renderStatus } from './render.js';
import {
  GENERATED,
  readScenario,
  SCENARIOS,
  scenarioNames,
  titleOf,
  WRITTEN,
  type Scenario,
} from './scenario.js';

const INDEX = `${SCENARIOS}../README.md`;

suite('golden scenarios', () => {
  test('nginx.conf of demo-bench, which they share', () => {
    const [outcome] = outcomesOf(readScenario('bench-minimal'));
    const { data } = objectsOf(outcome).find(
      ({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === 'demo-bench-nginx',
    ) as unknown as { readonly data: Readonly<Record<string, string>> };
    assertGolden(NGINX_CONF, data['nginx.conf'] ?? '');
  });

  for (const name of scenarioNames()) {
    suite(name, () => {
      const scenario = readScenario(name);
      const outcomes = outcomesOf(scenario);
      test(scenario.title, () => {
        const { base } = scenario;
        const other = base ? { name: base, outcomes: outcomesOf(readScenario(base)) } : undefined;
        assertGolden(`${SCENARIOS}${name}/objects.yaml`, renderObjects(outcomes, other));
      });
      test('… and its own message', () => {
        assertGolden(`${SCENARIOS}${name}/status.yaml`, renderStatus(outcomes));
      });
      test('… writes no field that the schema would drop', () => {
        for (const { pruned } of scenario.admissions) assert.deepEqual(pruned, []);
      });
      test('… is refused at admission only if it changes that field', () => {
        const problems = scenario.admissions.flatMap((admission) => admission.problems);
        assert.equal(problems.length > 0, name.endsWith('-refused'), JSON.stringify(problems));
      });
      test('… owns each object, or leaves it with labels', () => {
        for (const outcome of outcomes) checkOwner(outcome);
      });
      test('… has the files of a scenario and no others', () => {
        checkFiles(scenario);
      });
    });
  }

  test('are listed in a README', () => {
    const lines = scenarioNames().map(
      (name) => `- [${name}](scenarios/${name}/scenario.yaml): ${lowerFirst(titleOf(name))}`,
    );
    assertGolden(INDEX, `${INTRODUCTION}\n${lines.join('\n')}\n`);
  });
});

suite('a golden file that differs', () => {
  const text = (...lines: string[]) => lines.join('\n');
  test('is shown from the first to the last differing line, with what stands around', () => {
    const before = text('1', '2', '3', '4', 'old', '6', '7', '8', '9');
    const after = text('1', '2', '3', '4', 'new', 'newer', '6', '7', '8', '9');
    assert.equal(
      diff(before, after),
      text('@@ line 5 @@', '  2', '  3', '  4', '- old', '+ new', '+ newer', '  6', '  7', '  8'),
    );
  });
  test('is shown in part where much differs', () => {
    const many = Array.from({ length: 50 }, (_, at) => `line ${at}`).join('\n');
    assert.match(diff('', many), /… and 30 lines more$/);
  });
});

const INTRODUCTION = `# Golden scenarios

What the operator makes of a resource, as files to read. Each folder holds:

- \`scenario.yaml\`: the title, as a comment in its first line; what a user writes; a document \`kind: Cluster\`, with
  settings of the operator, optional APIs, Secrets, the bench of a site; a document \`kind: Observed\`, with the health of
  the children. Both are optional: all children are ready otherwise.
- \`objects.yaml\`: every object that comes of it, in the order in which they are applied.
- \`status.yaml\`: what the resource then says of itself.

\`npm run test:unit\` compares the last two byte for byte; \`npm run goldens\` rewrites them.
`;

function lowerFirst(text: string): string {
  return /^[A-Z][a-z]/.test(text) ? `${text.slice(0, 1).toLowerCase()}${text.slice(1)}` : text;
}

function objectsOf(outcome: Outcome | undefined) {
  return outcome?.stages.flatMap(({ objects }) => objects) ?? [];
}

function checkOwner(outcome: Outcome): void {
  const { apiVersion, kind, metadata } = outcome.resource;
  for (const object of objectsOf(outcome)) {
    const { labels = {}, ownerReferences } = object.metadata;
    const what = `${object.kind} ${object.metadata.name}`;
    const kept = labels['app-operator.io/retain'] === 'true';
    assert.equal(labels['app-operator.io/owner'], `${kind}.${metadata.name}`, what);
    assert.equal(labels['app.kubernetes.io/managed-by'], 'app-operator', what);
    assert.deepEqual(
      ownerReferences,
      kept
        ? undefined
        : [
            {
              apiVersion,
              kind,
              name: metadata.name,
              uid: metadata.uid,
              controller: true,
            },
          ],
      what,
    );
  }
}

function checkFiles({ name, title }: Scenario): void {
  assert.match(title, /^[A-Z]\S* .+[^.]$/, 'scenario.yaml begins with # and a title');
  const files = readdirSync(`${SCENARIOS}${name}`);
  assert.deepEqual(
    files.filter((file) => ![WRITTEN, ...GENERATED].includes(file)),
    [],
    'surplus files',
  );
  assert.ok(files.includes(WRITTEN), WRITTEN);
}
