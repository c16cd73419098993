import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import ts from 'typescript';
import * as constants from '../../constructs/kit/constants.generated.js';
import { scripts } from '../../constructs/frappe/scripts.generated.js';
import { jobModules, mountedFiles, parseConstants } from '../../tools/jobs/build.js';
import { ROOT } from '../support/docs-tables.js';
import { outcomesOf } from '../golden/outcome.js';
import { readScenario, scenarioNames } from '../golden/scenario.js';

const SCRIPTS = 'constructs/frappe/scripts.generated.ts';
const CONSTANTS = 'jobs/common/operator_constants.py';

let root: string;
before(() => {
  root = mkdtempSync(join(tmpdir(), 'app-operator-jobs-'));
  for (const folder of ['common', 'shell', 'tests', 'other']) {
    mkdirSync(join(root, 'jobs', folder), { recursive: true });
  }
  writeFileSync(join(root, CONSTANTS), '"""Doc."""\n\n# A port.\nPORT = 1\nLIST = ("a", "b")\n');
});
after(() => {
  rmSync(root, { recursive: true });
});

async function evaluate(text: string): Promise<Readonly<Record<string, unknown>>> {
  const script = ts.transpile(text, { module: ts.ModuleKind.ESNext });
  return (await import(`data:text/javascript,${encodeURIComponent(script)}`)) as never;
}

suite('Modules that are generated from jobs/', () => {
  test('hold the scripts byte for byte, and neither tests nor other files', async () => {
    const content = `#!/bin/sh\nprintf '%s\\n' "a'b" \\"c\\" \${X} \`id\` \\\\ ü😀\u2028\ttab\r\nno line end`;
    writeFileSync(join(root, 'jobs/shell/a.sh'), content);
    writeFileSync(join(root, 'jobs/shell/empty.py'), '');
    writeFileSync(join(root, 'jobs/shell/notes.txt'), 'not a script');
    writeFileSync(join(root, 'jobs/tests/test_a.py'), 'not mounted');
    const { scripts } = await evaluate(jobModules(root).get(SCRIPTS) ?? '');
    const { 'constants.sh': shell = '', ...others } = scripts as Record<string, string>;
    assert.deepEqual(others, {
      'a.sh': content,
      'empty.py': '',
      'operator_constants.py': readFileSync(join(root, CONSTANTS), 'utf8'),
    });
    assert.match(shell, /^OPERATOR_PORT='1'$/m);
  });
  test('hold the constants with their comments', async () => {
    const text = jobModules(root).get('constructs/kit/constants.generated.ts') ?? '';
    assert.match(text, /^\/\*\* A port\. \*\/\nexport const PORT = 1;$/m);
    assert.deepEqual({ ...(await evaluate(text)) }, { PORT: 1, LIST: ['a', 'b'] });
  });
  test('are refused when two files of a pod would have one name', () => {
    writeFileSync(join(root, 'jobs/other/a.sh'), '');
    assert.throws(() => mountedFiles(join(root, 'jobs')), /a\.sh: name is not unique: .*other/);
    rmSync(join(root, 'jobs/other/a.sh'));
  });
  test('are refused when a constant is not a literal', () => {
    assert.throws(() => parseConstants('import os\n'), /not a constant: import os/);
    assert.throws(() => parseConstants('PORT = port()\n'), /JSON/);
  });
});

/** TypeScript without comments and imports, so that only values remain. */
function typescriptValues(path: string): readonly string[] {
  const source = ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.Latest);
  const found: string[] = [];
  const collect = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node)) return;
    if (ts.isStringLiteralLike(node) || ts.isNumericLiteral(node)) found.push(node.text);
    ts.forEachChild(node, collect);
  };
  collect(source);
  return found;
}

/** Values of a Python or shell file: quoted texts, numbers, and defaults of shell variables. */
function scriptValues(text: string): readonly string[] {
  const code = text
    .replace(/^\s*#.*$/gm, '')
    .replace(/^\s*(?:r|rb)?"""[^]*?"""/gm, '')
    .replace(/(\d)_(?=\d)/g, '$1');
  return [...code.matchAll(/"([^"\n]*)"|'([^'\n]*)'|:-([^}]*)}|(?<![\w.])(\d+)(?![\w.])/g)].map(
    ([, ...groups]: readonly (string | undefined)[]) =>
      groups.find((group) => group !== undefined) ?? '',
  );
}

suite('Environment variables of pods', () => {
  /** Set for the framework, for Kubernetes or for Python, and not read by a script. */
  const others = new Set([
    'FRAPPE_STREAM_LOGGING',
    'HOME',
    'PYTHONDONTWRITEBYTECODE',
    'PYTHONPATH',
    'USER',
    // Of the pod templates of users.
    'DEBUG',
    'HTTPS_PROXY',
    'OMP_NUM_THREADS',
    'TZ',
  ]);

  test('that run a script of jobs/ are read by a script', () => {
    const text = Object.values(scripts).join('\n');
    const unread = new Set<string>();
    for (const scenario of scenarioNames()) {
      const objects = outcomesOf(readScenario(scenario)).flatMap(({ stages }) =>
        stages.flatMap((stage) => stage.objects),
      );
      for (const name of variablesOfScripts(objects)) {
        if (!others.has(name) && !new RegExp(`\\b${name}\\b`).test(text)) unread.add(name);
      }
    }
    assert.deepEqual([...unread], []);
  });
});

/** Names of the variables of every container whose command is a script of jobs/. */
function variablesOfScripts(value: unknown): readonly string[] {
  if (typeof value !== 'object' || value === null) return [];
  const { command, env } = value as {
    readonly command?: unknown;
    readonly env?: readonly { readonly name: string }[];
  };
  const runsScript = JSON.stringify(command ?? '').includes(constants.SCRIPTS_DIR);
  const own = runsScript ? (env ?? []).map(({ name }) => name) : [];
  return [...own, ...Object.values(value).flatMap((part: unknown) => variablesOfScripts(part))];
}

suite('Constants that the operator and the jobs share', () => {
  const values: Readonly<Record<string, unknown>> = constants;
  const scalars = Object.entries(values).filter(([, value]) => typeof value !== 'object');
  const files = (folder: string, pattern: RegExp): readonly string[] =>
    readdirSync(ROOT + folder, { recursive: true, encoding: 'utf8' })
      .filter((path) => pattern.test(path))
      .map((path) => `${ROOT}${folder}/${path}`);
  /** The operator's own port for metrics is nginx's port in other pods. */
  const others = /\/constructs\/((install|preview)\/|kit\/operator-identity)/;

  test('are declared once: no other file repeats a value', () => {
    const sources = [
      ...files('constructs', /^(?!.*\.generated\.ts$).*\.ts$/)
        .filter((path) => !others.test(path))
        .map((path) => [path, typescriptValues(path)] as const),
      ...files('jobs', /^(?!tests\/|common\/operator_constants).*\.(py|sh|cjs)$/).map(
        (path) => [path, scriptValues(readFileSync(path, 'utf8'))] as const,
      ),
    ];
    const repeated = sources.flatMap(([path, values]) =>
      scalars
        .filter(([, value]) => values.includes(String(value)))
        .map(([name]) => `${path.slice(ROOT.length)}: ${name}`),
    );
    assert.deepEqual(repeated, []);
  });
  test('are each used by at least one file', () => {
    const text = [
      ...files('constructs', /^(?!.*\.generated\.ts$).*\.ts$/),
      ...files('jobs', /^(?!tests\/|common\/operator_constants).*\.(py|sh|cjs)$/),
    ]
      .map((path) => readFileSync(path, 'utf8'))
      .join('\n');
    for (const name of Object.keys(constants)) assert.match(text, new RegExp(`\\b${name}\\b`));
  });
});
