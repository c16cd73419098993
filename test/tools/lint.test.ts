import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, suite, test } from 'node:test';
import { projectRoot } from '../../testbed/project-root.js';

/** Code that is refused where it stands, and the rule of Oxlint that refuses it. */
const REFUSED_CODE: readonly (readonly [
  reason: string,
  folder: string,
  code: string,
  rule: string,
])[] = [
  ['no randomness', 'constructs/kinds/site', "import { randomBytes } from 'node:crypto';\nexport const a = randomBytes;", 'no-restricted-imports'], // prettier-ignore
  ['no randomness of Math', 'constructs/kit', 'export const a = Math.random();', 'no-restricted-properties'], // prettier-ignore
  ['no clock', 'constructs/kit', 'export const a = new Date();', 'no-restricted-globals'],
  ['no environment', 'constructs/kit', 'export const a = process.env;', 'no-restricted-globals'],
  ['no timers', 'constructs/kit', 'setTimeout(() => 1, 1);', 'no-restricted-globals'],
  ['no requests', 'constructs/kit', "await fetch('http://x');", 'no-restricted-globals'],
  ...['runner/reconcile', 'cli/status'].flatMap((folder) => [
    ['no client without limits', folder, "import { request } from 'undici';\nexport const a = request;", 'no-restricted-imports'] as const, // prettier-ignore
    ['no other client', folder, "import { request } from 'node:http';\nexport const a = request;", 'no-restricted-imports'] as const, // prettier-ignore
    ['no socket', folder, "import { connect } from 'node:net';\nexport const a = connect;", 'no-restricted-imports'] as const, // prettier-ignore
    ['no request of the browser', folder, "await fetch('http://x');", 'no-restricted-globals'] as const, // prettier-ignore
  ]),
  ['a backoff grows with time, not with events', 'runner/controller', 'export const a = (n: number): number => 200 * 2 ** n;', 'backoff'], // prettier-ignore
  ['no default exports', 'cli', 'export default 1;', 'no-default-export'],
  ['no any', 'cli', 'export const a = (b: any): unknown => b;', 'no-explicit-any'],
  ['no assertion that a value exists', 'cli', 'export const a = (b?: string): string => b!;', 'no-non-null-assertion'], // prettier-ignore
  ['no barrels', 'constructs/kit', "export * from './names.js';", 'no-re-export'],
  ['a suppression says why', 'cli', '/* eslint-disable eqeqeq */\nexport const a = (b: number): boolean => b == 1;', 'reasons'], // prettier-ignore
];

const ACCEPTED_CODE: readonly (readonly [reason: string, folder: string, code: string])[] = [
  ['a hash', 'constructs/kit', "import { hash } from 'node:crypto';\nexport const a = hash;"], // prettier-ignore
  ['the index of a kind', 'constructs/kinds/bench/index.ts', "export { a } from './redis.js';"],
  ['a suppression that says why', 'cli', '// eslint-disable-next-line eqeqeq -- null and undefined alike\nexport const a = (b?: string): boolean => b == null;'], // prettier-ignore
];

/** Imports that are refused: a file of the first folder imports the second path. */
const REFUSED_IMPORTS: readonly (readonly [from: string, to: string])[] = [
  ['constructs/kit', 'constructs/api/x.ts'],
  ['constructs/kit', 'constructs/kinds/bench/x.ts'],
  ['constructs/api', 'constructs/frappe/x.ts'],
  ['constructs/integrations/keda', 'constructs/frappe/x.ts'],
  ['constructs/integrations/keda', 'constructs/integrations/traefik/x.ts'],
  ['constructs/frappe', 'constructs/kinds/bench/x.ts'],
  ['constructs/batches/documents', 'constructs/kinds/user/x.ts'],
  ['constructs/kinds/site', 'constructs/kinds/bench/x.ts'],
  ['constructs/kinds/site', 'constructs/preview/x.ts'],
  ['constructs/kinds/site', 'runner/x.ts'],
  ['constructs/kinds/site', 'node:fs'],
  ['constructs/kinds/site', 'fs'],
  ['constructs/frappe', 'undici'],
  ['runner/apply', 'constructs/kinds/bench/x.ts'],
  ['runner/apply', 'cli/x.ts'],
  ['runner/apply', 'testbed/x.ts'],
  ['runner/plan', 'runner/apply/x.ts'],
  ['runner/cache', 'runner/reconcile/x.ts'],
  ['runner/new-folder', 'runner/kit/x.ts'],
  ['constructs/kit/new-folder', 'constructs/kit/x.ts'],
  ['cli/kube', 'testbed/x.ts'],
  ['testbed/node', 'tools/x.ts'],
  ['tools/demo', 'test/x.ts'],
];

const ACCEPTED_IMPORTS: readonly (readonly [from: string, to: string])[] = [
  ['constructs/kinds/site', 'constructs/api/x.ts'],
  ['constructs/kinds/site', 'constructs/frappe/x.ts'],
  ['constructs/frappe', 'constructs/integrations/keda/x.ts'],
  ['runner/apply', 'constructs/kit/x.ts'],
  ['runner/apply', 'runner/plan/x.ts'],
  ['testbed/node', 'runner/x.ts'],
];

/** The file of a case: its own, or a new one of its folder. */
function codeFile(at: string, n: number): string {
  return at.endsWith('.ts') ? at : `${at}/code-${n}.ts`;
}

/** All cases are files of one tree: each linter runs once. */
suite('The lint rules', () => {
  let folder: string;
  let refusedBy: (file: string) => readonly string[];

  before(async () => {
    folder = mkdtempSync(path.join(tmpdir(), 'lint-'));
    const root = projectRoot();
    for (const name of [
      '.oxlintrc.json',
      '.dependency-cruiser.cjs',
      'package.json',
      'tools/lint',
    ]) {
      cpSync(path.join(root, name), path.join(folder, name), { recursive: true });
    }
    symlinkSync(path.join(root, 'node_modules'), path.join(folder, 'node_modules'));
    const code = [...REFUSED_CODE, ...ACCEPTED_CODE];
    code.forEach(([, at, text], n) => {
      const file = codeFile(at, n);
      write(path.dirname(file), path.basename(file), `${text}\n`);
    });
    const imports = [...REFUSED_IMPORTS, ...ACCEPTED_IMPORTS];
    imports.forEach(([at, to], n) => {
      const local = to.endsWith('.ts');
      if (local) write(path.dirname(to), path.basename(to), 'export const a = 1;\n');
      const from = local ? path.relative(at, to).replace(/[.]ts$/, '.js') : to;
      write(at, `import-${n}.ts`, `import '${from}';\n`);
    });
    const lint = await output('oxlint', ['-f', 'json', '.']);
    const { diagnostics } = JSON.parse(lint) as { readonly diagnostics: readonly Diagnostic[] };
    const cruised = await output('depcruise', ['constructs', 'runner', 'cli', 'testbed', 'tools', 'test', '-T', 'json']); // prettier-ignore
    const { summary } = JSON.parse(cruised) as { readonly summary: { readonly violations: readonly Violation[] } }; // prettier-ignore
    refusedBy = (file) => [
      ...diagnostics.filter(({ filename }) => filename === file).map(({ code: rule }) => rule),
      ...summary.violations.filter(({ from }) => from === file).map(({ rule }) => rule.name),
    ];
  });
  after(() => {
    rmSync(folder, { recursive: true });
  });

  function write(at: string, name: string, text: string): void {
    mkdirSync(path.join(folder, at), { recursive: true });
    writeFileSync(path.join(folder, at, name), text);
  }

  /** What a linter prints: it exits with an error, since there are refused files. */
  function output(program: string, args: readonly string[]): Promise<string> {
    const command = path.join(projectRoot(), 'node_modules/.bin', program);
    return new Promise((resolve) => {
      execFile(command, args, { cwd: folder, maxBuffer: 1e8 }, (_error, stdout) => {
        resolve(stdout);
      });
    });
  }

  REFUSED_CODE.forEach(([reason, at, , rule], n) => {
    test(`refuse: ${reason} (${at})`, () => {
      const rules = refusedBy(codeFile(at, n));
      assert.ok(
        rules.some((name) => name.includes(`(${rule})`)),
        rules.join(),
      );
    });
  });
  ACCEPTED_CODE.forEach(([reason, at], n) => {
    test(`accept: ${reason} (${at})`, () => {
      assert.deepEqual(refusedBy(codeFile(at, REFUSED_CODE.length + n)), []);
    });
  });
  REFUSED_IMPORTS.forEach(([at, to], n) => {
    test(`refuse: ${at} imports ${to}`, () => {
      assert.equal(refusedBy(`${at}/import-${n}.ts`).length > 0, true);
    });
  });
  ACCEPTED_IMPORTS.forEach(([at, to], n) => {
    test(`accept: ${at} imports ${to}`, () => {
      assert.deepEqual(refusedBy(`${at}/import-${REFUSED_IMPORTS.length + n}.ts`), []);
    });
  });
});

interface Diagnostic {
  readonly code: string;
  readonly filename: string;
}

interface Violation {
  readonly from: string;
  readonly rule: { readonly name: string };
}
