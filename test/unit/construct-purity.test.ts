import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { KINDS as REGISTERED } from '../../constructs/registry.js';

const CONSTRUCTS = fileURLToPath(new URL('../../../../constructs/', import.meta.url));
/** Folders of kinds have a schema. */
const KINDS = readdirSync(CONSTRUCTS, { withFileTypes: true })
  .filter(
    (entry) => entry.isDirectory() && existsSync(`${CONSTRUCTS}${entry.name}/schema.generated.ts`),
  )
  .map(({ name }) => name);
/** What brings kinds together for those who use them. */
const ABOVE = /^(registry\.ts|index\.ts|preview\/.*)$/;
/** The sources of time, randomness, the environment and I/O. */
const FORBIDDEN = [
  'process',
  'Date',
  'fetch',
  'crypto',
  'performance',
  'console',
  'setTimeout',
  'setInterval',
  'setImmediate',
  'queueMicrotask',
  'globalThis',
  'require',
  'eval',
  'Function',
];
/** Packages that only compute. */
const PACKAGES = ['cdk8s', 'cdk8s-plus-28', 'constructs', '@marcbachmann/cel-js'];

interface Import {
  readonly from: string;
  readonly names: readonly string[];
  readonly typeOnly: boolean;
}

const FILES = readdirSync(CONSTRUCTS, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts'))
  .sort()
  .map((path) => {
    const text = readFileSync(CONSTRUCTS + path, 'utf8');
    return { path, source: ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true) };
  });

function importsOf(source: ts.SourceFile): readonly Import[] {
  return source.statements.flatMap((statement) => {
    if (!ts.isImportDeclaration(statement) && !ts.isExportDeclaration(statement)) return [];
    const { moduleSpecifier } = statement;
    if (!moduleSpecifier || !ts.isStringLiteral(moduleSpecifier)) return [];
    const bindings = ts.isImportDeclaration(statement)
      ? statement.importClause?.namedBindings
      : undefined;
    const elements = bindings && ts.isNamedImports(bindings) ? [...bindings.elements] : [];
    return [
      {
        from: moduleSpecifier.text,
        names: elements.map(({ name }) => name.text),
        typeOnly:
          isTypeOnly(statement) ||
          (elements.length > 0 && elements.every((element) => element.isTypeOnly)),
      },
    ];
  });
}

function isTypeOnly(statement: ts.ImportDeclaration | ts.ExportDeclaration): boolean {
  return ts.isImportDeclaration(statement)
    ? statement.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword
    : statement.isTypeOnly;
}

/** Names that refer to global values: no fields, no types, no declarations of the file. */
function globalsOf(source: ts.SourceFile): readonly string[] {
  const found: string[] = [];
  const reconcile = (node: ts.Node): void => {
    if (ts.isTypeNode(node)) return;
    if (ts.isIdentifier(node) && FORBIDDEN.includes(node.text) && !isName(node)) {
      found.push(node.text);
    }
    if (ts.isPropertyAccessExpression(node) && node.getText() === 'Math.random') {
      found.push('Math.random');
    }
    if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
      found.push('import()');
    }
    ts.forEachChild(node, reconcile);
  };
  reconcile(source);
  return found;
}

/** Whether an identifier names a field or a declaration, and reads nothing. */
function isName(node: ts.Identifier): boolean {
  const { parent } = node;
  if (ts.isPropertyAccessExpression(parent)) return parent.name === node;
  return (
    (ts.isPropertyAssignment(parent) || ts.isPropertySignature(parent)) && parent.name === node
  );
}

suite('constructs/ is pure', () => {
  test('it has files to check', () => {
    assert.ok(FILES.length > 50);
  });
  test('it reads no clock, chance or environment and does no I/O', () => {
    const found = FILES.flatMap(({ path, source }) =>
      globalsOf(source).map((name) => `${path}: ${name}`),
    );
    assert.deepEqual(found, []);
  });
  test('of the built-in modules it uses createHash only, and only packages that compute', () => {
    for (const { path, source } of FILES) {
      for (const { from, names, typeOnly } of importsOf(source)) {
        if (from.startsWith('.')) continue;
        if (from === 'node:crypto') assert.deepEqual(names, ['createHash'], path);
        else assert.ok(typeOnly || PACKAGES.includes(from), `${path} imports ${from}`);
      }
    }
  });
  test('it knows nothing of who uses it', () => {
    for (const { path, source } of FILES) {
      for (const { from } of importsOf(source)) {
        assert.doesNotMatch(from, /^(\.\.\/)+(runner|cli|tools|test)\//, path);
      }
    }
  });
  test('a check that finds nothing would be found out', () => {
    const source = ts.createSourceFile(
      'x.ts',
      'const a = process.env; b.process; Math.random(); type X = Date; ({ fetch: 1 }); new Date();',
      ts.ScriptTarget.Latest,
      true,
    );
    assert.deepEqual(globalsOf(source), ['process', 'Math.random', 'Date']);
  });
});

suite('kinds do not know each other', () => {
  const crossings = FILES.flatMap(({ path, source }) => {
    const [folder = ''] = path.split('/');
    return importsOf(source).flatMap(({ from, typeOnly }) => {
      const target = new URL(from, `file:///${path}`).pathname.slice(1).split('/');
      const other = KINDS.includes(target[0] ?? '') && target[0] !== folder;
      return from.startsWith('.') && other ? [{ path, folder, from, typeOnly }] : [];
    });
  });
  test('beyond the types of their API', () => {
    const values = crossings.filter(
      ({ path, from, typeOnly }) => !ABOVE.test(path) && !(typeOnly && from.endsWith('/api.js')),
    );
    assert.deepEqual(values, []);
  });
  test('and each of them is registered', () => {
    const registry = readFileSync(`${CONSTRUCTS}registry.ts`, 'utf8');
    const imported = KINDS.filter((folder) => registry.includes(`'./${folder}/index.js'`));
    assert.deepEqual(imported, KINDS);
    assert.equal(REGISTERED.length, KINDS.length);
  });
  test('and the kit does not know them either, except for those types', () => {
    const kit = crossings.filter(({ folder }) => folder === 'kit');
    assert.deepEqual(kit, []);
  });
});

suite('an integration', () => {
  test('imports the kit and generated imports only: kinds use it, and it knows none of them', () => {
    for (const { path, source } of FILES) {
      if (!path.startsWith('integrations/')) continue;
      for (const { from } of importsOf(source)) {
        const target = new URL(from, `file:///constructs/${path}`).pathname;
        assert.match(
          from.startsWith('.') ? target : '/imports/',
          /^\/(constructs\/(kit|integrations)|imports)\//,
          path,
        );
      }
    }
  });
});
