import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { suite, test } from 'node:test';
import ts from 'typescript';
import { ROOT } from '../golden/docs.js';
import { outcomesOf } from '../golden/outcome.js';
import { readScenario, scenarioNames } from '../golden/scenario.js';

/** Kinds that can fail: evaluatePhase() makes the reason of their name. */
const FAILING = ['Job', 'Deployment', 'PersistentVolumeClaim'];
/** The template that makes a reason of a child's kind. */
const OF_KIND = '${}Failed';

/** The texts that an expression can be, as far as the source says. */
function textsOf(node: ts.Node | undefined, source: ts.SourceFile): readonly string[] {
  if (!node) return [];
  if (ts.isStringLiteral(node)) return [node.text];
  if (ts.isTemplateExpression(node)) {
    return [
      node.templateSpans.reduce((text, span) => `${text}\${}${span.literal.text}`, node.head.text),
    ];
  }
  if (ts.isConditionalExpression(node)) {
    return [node.whenTrue, node.whenFalse].flatMap((branch) => textsOf(branch, source));
  }
  if (ts.isBinaryExpression(node)) {
    return [node.left, node.right].flatMap((side) => textsOf(side, source));
  }
  if (ts.isAsExpression(node) || ts.isParenthesizedExpression(node)) {
    return textsOf(node.expression, source);
  }
  if (ts.isIdentifier(node)) return textsOf(declarationOf(node.text, source), source);
  return [];
}

function declarationOf(name: string, source: ts.SourceFile): ts.Expression | undefined {
  let found: ts.Expression | undefined;
  const reconcile = (node: ts.Node): void => {
    if (ts.isVariableDeclaration(node) && node.name.getText() === name) found ??= node.initializer;
    ts.forEachChild(node, reconcile);
  };
  reconcile(source);
  return found;
}

/** Where calls have their reason. */
const PLACES: Readonly<Record<string, number>> = {
  Waiting: 0,
  Stalled: 0,
  conditionResult: 0,
  blockedReason: 0,
  inState: 0,
  statusResult: 1,
  'this.#complain': 2,
};

/** Reasons are thrown with errors, or are in condition results. */
function reasonsOf(source: ts.SourceFile): readonly string[] {
  const found: string[] = [];
  const reconcile = (node: ts.Node): void => {
    const callee =
      ts.isNewExpression(node) || ts.isCallExpression(node) ? node.expression.getText() : '';
    const args =
      ts.isNewExpression(node) || ts.isCallExpression(node) ? (node.arguments ?? []) : [];
    const at = PLACES[callee];
    if (at !== undefined) found.push(...textsOf(args[at], source));
    if (ts.isPropertyAssignment(node) && node.name.getText() === 'reason') {
      found.push(...textsOf(node.initializer, source));
    }
    ts.forEachChild(node, reconcile);
  };
  reconcile(source);
  return found;
}

function inSources(): ReadonlyMap<string, string> {
  const files = ['constructs', 'runner'].flatMap((folder) =>
    readdirSync(ROOT + folder, { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.ts') && !path.endsWith('.generated.ts'))
      .map((path) => `${folder}/${path}`),
  );
  const reasons = files.flatMap((path) => {
    const text = readFileSync(ROOT + path, 'utf8');
    const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
    return reasonsOf(source).map((reason) => [reason, path] as const);
  });
  return new Map(
    reasons.flatMap(([reason, path]) =>
      (reason === OF_KIND ? FAILING.map((kind) => `${kind}Failed`) : [reason]).map(
        (name) => [name, path] as const,
      ),
    ),
  );
}

const PAGE = readFileSync(`${ROOT}docs/reasons.md`, 'utf8');

/** The rows of a table of the page, cell by cell. */
function rowsOf(heading: string): readonly (readonly string[])[] {
  const [, section = ''] = PAGE.split(`## ${heading}\n`);
  const [own = ''] = section.split('\n## ');
  return own
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) => line.split(' | ').map((cell) => cell.replace(/^\| |\|$/g, '').trim()));
}

const first = (rows: readonly (readonly string[])[]) =>
  [...new Set(rows.map(([cell = '']) => cell.replaceAll('`', '')))].sort();

/** What the page calls a kind. */
const WORDS: Readonly<Record<string, string>> = {
  AppBench: 'bench',
  AppSite: 'site',
  SiteBackup: 'backup',
  SiteJob: 'job',
};

suite('docs/reasons.md', () => {
  test('explains every reason of a condition, and none that is never given', () => {
    assert.deepEqual(first(rowsOf('Conditions')), [...inSources().keys()].sort());
  });
  test('says which event is recorded: one for each reason of Ready except progress', () => {
    for (const [reason = '', , condition = '', status = '', event] of rowsOf('Conditions')) {
      const steps = /`(Provisioning|Updating|Deleting|Syncing|Running)`/.test(reason);
      const told = condition.includes('`Ready`') && !steps;
      assert.equal(event, told ? (status === 'True' ? 'Normal' : 'Warning') : 'none', reason);
    }
  });
  test('has a row for every condition of the golden scenarios', () => {
    const rows = rowsOf('Conditions');
    const lastWords = first(rowsOf('Last words of Jobs'));
    for (const name of scenarioNames()) {
      for (const { resource, status } of outcomesOf(readScenario(name))) {
        const kind = WORDS[resource.kind] ?? 'document';
        for (const { type, reason, status: value } of status.conditions ?? []) {
          if (['Reconciling', 'Stalled'].includes(type)) continue;
          // A failed Job's last word is the reason.
          if (type === 'Ready' && lastWords.includes(reason)) continue;
          const row = rows.find(
            ([own = '', kinds = '', condition = '', values = '']) =>
              own === `\`${reason}\`` &&
              (kinds === 'all' || kinds.includes(kind)) &&
              condition.includes(`\`${type}\``) &&
              values.includes(value),
          );
          assert.ok(row, `${name}: ${kind} ${type}=${value} ${reason}`);
        }
      }
    }
  });
  test('explains the termination messages of every script, and no others', () => {
    const folder = `${ROOT}constructs/frappe/scripts/`;
    const texts = readdirSync(folder)
      .filter((name) => /\.(py|sh)$/.test(name))
      .map((name) => readFileSync(folder + name, 'utf8'))
      .join('\n');
    const patterns = [
      /(?:Refused|S3Error|report|foretell)\(\s*"([A-Z]\w+)"/g,
      /^ +reason = "([A-Z]\w+)"/gm,
      /app-operator: ([A-Z]\w+): /g,
      /(?:step|bench)\(settings, (?:"[a-z-]+", )?"([A-Z]\w+)"/g,
      /\bdie ([A-Z]\w+) /g,
      /\breason = "([A-Z]\w+)"/g,
    ];
    const said = patterns.flatMap((pattern) =>
      [...texts.matchAll(pattern)].map(([, name]) => name),
    );
    assert.deepEqual(
      first([...rowsOf('Last words of Jobs'), ...rowsOf('Last words of other containers')]),
      [...new Set(said)].sort(),
    );
  });
  test('says what to do wherever something is wrong', () => {
    for (const [reason = '', , , status, , meaning = '', todo = ''] of rowsOf('Conditions')) {
      assert.notEqual(meaning, '', reason);
      if (status === 'False') assert.notEqual(todo, '', reason);
    }
  });
});
