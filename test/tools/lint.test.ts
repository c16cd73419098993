import assert from 'node:assert/strict';
import { before, suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { ESLint, type Linter } from 'eslint';
import tseslint from 'typescript-eslint';

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));

/** Code that must be refused where it stands, and the rule that refuses it. */
const REFUSED: readonly (readonly [reason: string, path: string, code: string, rule: string])[] = [
  [
    'constructs know no runner',
    'constructs/kinds/bench/x.ts',
    "import { a } from '../../runner/a.js';",
    'no-restricted-imports',
  ],
  [
    'constructs know no command line',
    'constructs/kit/x.ts',
    "import { a } from '../../cli/a.js';",
    'no-restricted-imports',
  ],
  [
    'constructs do no I/O',
    'constructs/kinds/site/x.ts',
    "import { readFileSync } from 'node:fs';",
    'no-restricted-imports',
  ],
  [
    '… nor under the old name',
    'constructs/kinds/site/x.ts',
    "import { readFileSync } from 'fs';",
    'no-restricted-imports',
  ],
  [
    'constructs have no randomness',
    'constructs/kinds/site/x.ts',
    "import { randomBytes } from 'node:crypto';",
    'no-restricted-imports',
  ],
  [
    '… nor from Math',
    'constructs/kit/x.ts',
    'export const a = Math.random();',
    'no-restricted-properties',
  ],
  [
    'constructs have no clock',
    'constructs/kit/x.ts',
    'export const a = new Date();',
    'no-restricted-globals',
  ],
  [
    'constructs have no environment',
    'constructs/kit/x.ts',
    'export const a = process.env;',
    'no-restricted-globals',
  ],
  [
    'constructs have no timers',
    'constructs/kit/x.ts',
    'setTimeout(f, 1);',
    'no-restricted-globals',
  ],
  [
    'constructs send no requests',
    'constructs/kit/x.ts',
    "await fetch('http://x');",
    'no-restricted-globals',
  ],
  [
    'constructs have no client',
    'constructs/frappe/x.ts',
    "import { request } from 'undici';",
    'no-restricted-imports',
  ],
  [
    'a kind does not use another',
    'constructs/kinds/site/x.ts',
    "import { a } from '../bench/redis.js';",
    'no-restricted-imports',
  ],
  [
    '… nor its values',
    'constructs/kinds/site/x.ts',
    "import { a } from '../bench/api.js';",
    'no-restricted-imports',
  ],
  [
    'kit knows no kind',
    'constructs/kit/x.ts',
    "import type { A } from '../bench/api.js';",
    'no-restricted-imports',
  ],
  [
    'runner knows no kind',
    'runner/x.ts',
    "import { a } from '../constructs/bench/redis.js';",
    'no-restricted-imports',
  ],
  [
    'runner knows no command line',
    'runner/x.ts',
    "import { a } from '../cli/a.js';",
    'no-restricted-imports',
  ],
  ...(['constructs/kinds/bench', 'runner/apply', 'cli/status'] as const).flatMap((folder) =>
    (['testbed', 'tools', 'test'] as const).map(
      (outside) =>
        [
          `product code imports no ${outside}`,
          `${folder}/x.ts`,
          `import { a } from '../../${outside}/a.js';`,
          'no-restricted-imports',
        ] as const,
    ),
  ),
  ...(
    [
      ['HTTP client', "import { request } from 'undici';", 'no-restricted-imports'],
      ['other HTTP client', "import { request } from 'node:http';", 'no-restricted-imports'],
      ['socket', "import { connect } from 'node:net';", 'no-restricted-imports'],
      ['request of the browser', "await fetch('http://x');", 'no-restricted-globals'],
    ] as const
  ).flatMap(([what, code, rule]) =>
    (['runner/reconcile', 'cli/status'] as const).map(
      (folder) => [`requests without limits: no ${what}`, `${folder}/x.ts`, code, rule] as const,
    ),
  ),
  [
    'a backoff grows with time, not with events',
    'runner/controller/x.ts',
    'export const a = (n: number) => 200 * 2 ** n;',
    'no-restricted-syntax',
  ],
  [
    'the testbed imports no tools',
    'testbed/node/x.ts',
    "import { a } from '../../tools/a.js';",
    'no-restricted-imports',
  ],
  [
    'the testbed imports no tests',
    'testbed/node/x.ts',
    "import { a } from '../../test/a.js';",
    'no-restricted-imports',
  ],
  [
    'only tests import tests',
    'tools/demo/x.ts',
    "import { a } from '../../test/a.js';",
    'no-restricted-imports',
  ],
  ['no default exports', 'cli/x.ts', 'export default 1;', 'no-restricted-syntax'],
  ['no any', 'cli/x.ts', 'export const a = (b: any): unknown => b;', 'no-explicit-any'],
  [
    'no assertion that it is there',
    'cli/x.ts',
    'export const a = (b?: string): string => b!;',
    'no-non-null-assertion',
  ],
  ['no barrels', 'constructs/kit/x.ts', "export * from './names.js';", 'no-restricted-syntax'],
  [
    'a suppression says why',
    'cli/x.ts',
    '/* eslint-disable eqeqeq */\nexport const a = (b: number): boolean => b == 1;',
    'reasons',
  ],
];

const ACCEPTED: readonly (readonly [reason: string, path: string, code: string])[] = [
  [
    'a hash is pure',
    'constructs/kit/x.ts',
    "import { createHash } from 'node:crypto';\nexport const a = createHash;",
  ],
  [
    'the testbed imports product code',
    'testbed/node/x.ts',
    "import { a } from '../../runner/a.js';\nexport const b = a;",
  ],
  [
    "another kind's types",
    'constructs/kinds/site/x.ts',
    "import type { A } from '../bench/api.js';\nexport type B = A;",
  ],
  ["a kind's index", 'constructs/kinds/bench/index.ts', "export { a } from './redis.js';"],
  [
    'runner uses kit',
    'runner/x.ts',
    "import { a } from '../constructs/kit/names.js';\nexport const b = a;",
  ],
  [
    'a suppression that says why',
    'cli/x.ts',
    '// eslint-disable-next-line eqeqeq -- null and undefined alike\nexport const a = (b?: string): boolean => b == null;',
  ],
];

suite('The lint rules', () => {
  let eslint: ESLint;
  before(() => {
    // Rules with types need files on disk; those here need none, and are fast without.
    const overrideConfig = [tseslint.configs.disableTypeChecked as Linter.Config];
    eslint = new ESLint({ cwd: ROOT, overrideConfig });
  });
  const rulesOf = async (path: string, code: string): Promise<string[]> => {
    const results = await eslint.lintText(`${code}\n`, { filePath: path });
    return results.flatMap(({ messages }) =>
      messages.map(({ ruleId, message }) => ruleId?.replace(/^.*\//, '') ?? message),
    );
  };

  for (const [reason, path, code, rule] of REFUSED) {
    test(`refuse: ${reason} (${path})`, async () => {
      assert.ok((await rulesOf(path, code)).includes(rule));
    });
  }
  for (const [reason, path, code] of ACCEPTED) {
    test(`accept: ${reason} (${path})`, async () => {
      assert.deepEqual(await rulesOf(path, code), []);
    });
  }
});
