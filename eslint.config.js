// The house's rules: strict types, and import directions that keep constructs/ pure.
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { join } from 'node:path';
import js from '@eslint/js';
import tseslint from 'typescript-eslint';

/** The folders of the kinds: those with a `definition.ts`. */
const KINDS = readdirSync(join(import.meta.dirname, 'constructs')).filter(
  (folder) =>
    folder !== 'kit' &&
    existsSync(join(import.meta.dirname, 'constructs', folder, 'definition.ts')),
);
const BUILTIN = builtinModules.filter((name) => !name.startsWith('_')).join('|');

/** Phrases that avoid the noun that they are about. Documents are held to the same list by textlint. */
const PHRASES = JSON.parse(
  readFileSync(`${import.meta.dirname}/tools/lint/banned-phrases.json`, 'utf8'),
);
const BANNED = String.raw`/\b(${PHRASES.join('|')})\b/i`;
const PLAIN = 'Name the thing, and say who does what: see docs/contributing/glossary.md.';

/** Import patterns, each with what to do instead. */
const NO = {
  outwards: {
    regex: String.raw`^(\.\./)+(runner|cli|testbed|tools|test)/`,
    message: 'constructs/ is pure and knows nothing of who uses it.',
  },
  builtins: {
    regex: `^(node:(?!crypto$)|(${BUILTIN})(/|$))`,
    message:
      'constructs/ does no I/O: of the built-in modules it may use createHash of node:crypto.',
  },
  clients: {
    regex: '^(@kubernetes/client-node|undici|winston|prom-client)(/|$)',
    message: 'constructs/ does no I/O: clients, logs and metrics belong to runner/.',
  },
  otherKinds: {
    regex: String.raw`^(\.\./)+(constructs/)?(${KINDS.join('|')})/(?!api\.js$)`,
    message:
      "A kind knows another kind by the types of its api.ts only; what they share is kit/'s.",
  },
  otherKindsValues: {
    regex: String.raw`^(\.\./)+(constructs/)?(${KINDS.join('|')})/api\.js$`,
    allowTypeImports: true,
    message: "Another kind's api.ts is for its types: use `import type`.",
  },
  kindsInKit: {
    regex: String.raw`^(\.\./)+(?!\.\./)(${KINDS.join('|')}|frappe|integrations|documents|install|monitoring|preview|registry)`,
    message: 'kit/ is below everything: it imports nothing else of constructs/.',
  },
  integrationsBelowKinds: {
    regex: String.raw`^(\.\./){2}(?!kit/|\.\./imports/)`,
    message:
      'An integration imports kit/ and imports/ only: kinds use it, and it knows none of them.',
  },
  kindsInRunner: {
    regex: String.raw`^(\.\./)+constructs/(?!(registry|index)\.js$|kit/)`,
    message: 'runner/ is generic: it knows kinds by constructs/registry and constructs/kit only.',
  },
  aboveRunner: {
    regex: String.raw`^(\.\./)+(cli|testbed|tools|test)/`,
    message: 'runner/ knows nothing of who uses it.',
  },
  aboveCli: {
    regex: String.raw`^(\.\./)+(testbed|tools|test)/`,
    message: 'Product code imports no testbed, tools or tests.',
  },
  aboveTestbed: {
    regex: String.raw`^(\.\./)+(tools|test)/`,
    message: 'testbed/ imports no tools or tests; it may import product code.',
  },
  test: {
    regex: String.raw`^(\.\./)+test/`,
    message: 'Only tests import from test/.',
  },
};

/** A tenant's server may answer without an end, or not at all: see runner/health/http-probe.ts. */
const BOUNDED =
  'Requests go through runner/api (the API server) or runner/health/http-probe.ts, which limits ' +
  'bytes and time.';
const OUTGOING = [
  { regex: '^(node:)?(http2|dgram)$|^undici(/|$)', message: BOUNDED },
  {
    regex: '^(node:)?(http|https|net|tls)$',
    importNames: ['request', 'get', 'Agent', 'connect', 'createConnection', 'Socket'],
    allowTypeImports: true,
    message: BOUNDED,
  },
];
const OUTGOING_GLOBALS = {
  'no-restricted-globals': [
    'error',
    ...['fetch', 'WebSocket', 'EventSource'].map((name) => ({ name, message: BOUNDED })),
  ],
};
const BACKOFF = {
  selector: "BinaryExpression[operator='*'] > BinaryExpression[operator='**']",
  message: 'A backoff grows with time, not with events: use backoffMs or doubledMs of backoff.ts.',
};

/** The rule about imports, for one part of the tree: blocks of configuration do not add up. */
const restrict = (...patterns) => ({
  '@typescript-eslint/no-restricted-imports': ['error', { patterns }],
});

const CRYPTO = {
  group: ['node:crypto'],
  allowImportNames: ['createHash'],
  message: 'Of node:crypto, constructs/ uses createHash only: no randomness.',
};
const PURE = [NO.outwards, NO.builtins, NO.clients, CRYPTO];

const IMPURE_GLOBALS = [
  'Date',
  'process',
  'fetch',
  'crypto',
  'performance',
  'console',
  'setTimeout',
  'setInterval',
  'setImmediate',
  'queueMicrotask',
];

/** A comment that switches a rule off says why, after two dashes. */
const reasons = {
  meta: { type: 'suggestion', schema: [], messages: { why: 'Say why: `{{text}} -- reason`.' } },
  create: (context) => ({
    Program() {
      for (const comment of context.sourceCode.getAllComments()) {
        const text = comment.value.trim();
        if (/^eslint-disable/.test(text) && !/ -- \S.{9,}/.test(text)) {
          context.report({ loc: comment.loc, messageId: 'why', data: { text } });
        }
      }
    },
  }),
};

const PROSE = [
  { selector: `Literal[value=${BANNED}]`, message: PLAIN },
  { selector: `TemplateElement[value.cooked=${BANNED}]`, message: PLAIN },
];
const RE_EXPORT = 'No barrels but index.ts of a kind and of constructs/: import from where it is.';
const MODULES = [
  {
    selector: 'ExportDefaultDeclaration',
    message: 'No default exports: a name is the same everywhere.',
  },
  { selector: 'ExportAllDeclaration', message: RE_EXPORT },
  { selector: 'ExportNamedDeclaration[source]', message: RE_EXPORT },
];

export default tseslint.config(
  { ignores: ['dist/', 'imports/', '**/*.generated.ts', '.demo/', 'tools/docs/site/'] },
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },
  js.configs.recommended,
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    languageOptions: {
      parserOptions: { project: './tsconfig.json', tsconfigRootDir: import.meta.dirname },
    },
    plugins: { house: { rules: { reasons } } },
    rules: {
      'house/reasons': 'error',
      'no-restricted-syntax': ['error', ...MODULES, ...PROSE],
      'no-warning-comments': ['error', { terms: PHRASES, location: 'anywhere' }],
      eqeqeq: 'error',
      complexity: ['error', 12],
      'max-depth': ['error', 3],
      'max-params': ['error', 4],
      'max-lines-per-function': ['error', { max: 60, skipBlankLines: true, skipComments: true }],
      '@typescript-eslint/consistent-type-imports': ['error', { disallowTypeAnnotations: false }],
      // The empty string counts as nothing where text is put together.
      '@typescript-eslint/prefer-nullish-coalescing': [
        'error',
        { ignorePrimitives: { string: true, boolean: true } },
      ],
      // A type parameter that only the result has lets the caller name what it reads.
      '@typescript-eslint/no-unnecessary-type-parameters': 'off',
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true },
      ],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      '@typescript-eslint/restrict-template-expressions': [
        'error',
        { allowNumber: true, allowBoolean: true },
      ],
      // Index signatures are read in the style of the data; interfaces carry the schemas' markers.
      '@typescript-eslint/dot-notation': ['error', { allowIndexSignaturePropertyAccess: true }],
      '@typescript-eslint/consistent-indexed-object-style': 'off',
      // A construct is made for its effect on the tree.
      'no-new': 'off',
      // Types are inferred where they say nothing new; unused parameters are the compiler's to find.
      '@typescript-eslint/no-unused-vars': [
        'error',
        { argsIgnorePattern: '^_', varsIgnorePattern: '^_' },
      ],
      '@typescript-eslint/no-floating-promises': [
        'error',
        {
          allowForKnownSafeCalls: [
            { from: 'package', package: 'node:test', name: ['test', 'it', 'describe', 'suite'] },
          ],
        },
      ],
      ...restrict(NO.test),
    },
  },
  {
    files: ['constructs/**/*.ts'],
    rules: {
      ...restrict(...PURE),
      'no-restricted-globals': [
        'error',
        ...IMPURE_GLOBALS.map((name) => ({
          name,
          message: 'constructs/ has no clock, randomness, environment or I/O.',
        })),
      ],
      'no-restricted-properties': [
        'error',
        { object: 'Math', property: 'random', message: 'constructs/ has no randomness.' },
      ],
    },
  },
  {
    files: [`constructs/{${KINDS.join(',')},frappe}/**/*.ts`],
    rules: restrict(...PURE, NO.otherKinds, NO.otherKindsValues),
  },
  {
    files: ['constructs/kit/**/*.ts'],
    rules: restrict(...PURE, NO.kindsInKit),
  },
  {
    files: ['constructs/integrations/**/*.ts'],
    rules: restrict(...PURE, NO.integrationsBelowKinds),
  },
  {
    files: ['runner/**/*.ts'],
    rules: {
      ...restrict(NO.aboveRunner, NO.kindsInRunner, ...OUTGOING),
      ...OUTGOING_GLOBALS,
      'no-restricted-syntax': ['error', ...MODULES, ...PROSE, BACKOFF],
    },
  },
  {
    files: ['runner/api/**/*.ts', 'runner/health/http-probe.ts', 'runner/health/websocket.ts'],
    rules: restrict(NO.aboveRunner, NO.kindsInRunner),
  },
  {
    files: ['runner/backoff.ts'],
    rules: { 'no-restricted-syntax': ['error', ...MODULES, ...PROSE] },
  },
  {
    files: ['cli/**/*.ts'],
    rules: { ...restrict(NO.aboveCli, ...OUTGOING), ...OUTGOING_GLOBALS },
  },
  {
    files: ['testbed/**/*.ts'],
    rules: restrict(NO.aboveTestbed),
  },
  {
    files: ['constructs/index.ts', 'constructs/*/index.ts', 'cli/testing.ts'],
    rules: { 'no-restricted-syntax': ['error', ...PROSE] },
  },
  {
    files: ['test/**/*.ts'],
    rules: {
      ...restrict(),
      // Fakes stand in for classes and asynchronous functions.
      '@typescript-eslint/no-unsafe-class-instance-assignment': 'off',
      '@typescript-eslint/require-await': 'off',
      // A suite is one function around its tests.
      'max-lines-per-function': 'off',
    },
  },
);
