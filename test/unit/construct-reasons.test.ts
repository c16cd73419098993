import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { suite, test } from 'node:test';
import ts from 'typescript';
import { COMMON_REASONS, reasonClass, type Reasons } from '../../constructs/kit/reasons.js';
import { KINDS, type AnyKind } from '../../constructs/registry.js';
import * as constants from '../../constructs/kit/constants.generated.js';
import { scripts } from '../../constructs/frappe/scripts.generated.js';
import { ROOT } from '../support/docs-tables.js';
import { kindOf, outcomesOf } from '../golden/outcome.js';
import { readScenario, scenarioNames } from '../golden/scenario.js';

/** Kinds that can fail: `evaluatePhase` derives a reason from their name. */
const FAILING = ['Job', 'Deployment', 'PersistentVolumeClaim'];
/** The text of a template that derives a reason from a child's kind. */
const OF_KIND = '${}Failed';

/** The texts that an expression can be, as far as the source has them. */
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
  if (ts.isIdentifier(node)) {
    const shared = constants[node.text as keyof typeof constants];
    if (typeof shared === 'string') return [shared];
    return textsOf(declarationOf(node.text, source), source);
  }
  return [];
}

function declarationOf(name: string, source: ts.SourceFile): ts.Expression | undefined {
  let found: ts.Expression | undefined;
  const walk = (node: ts.Node): void => {
    if (ts.isVariableDeclaration(node) && node.name.getText() === name) found ??= node.initializer;
    ts.forEachChild(node, walk);
  };
  walk(source);
  return found;
}

/** Where calls have their reason. */
const PLACES: Readonly<Record<string, number>> = {
  Waiting: 0,
  Stalled: 0,
  refusals: 0,
  conditionResult: 2,
  notApplied: 0,
  blockedReason: 0,
  inState: 0,
  statusResult: 1,
  deleting: 1,
  retried: 0,
  'this.#reportProgress': 1,
};

/** Reasons are thrown with errors, or are in condition results. */
function reasonsOf(source: ts.SourceFile): readonly string[] {
  const found: string[] = [];
  const walk = (node: ts.Node): void => {
    const callee =
      ts.isNewExpression(node) || ts.isCallExpression(node) ? node.expression.getText() : '';
    const args =
      ts.isNewExpression(node) || ts.isCallExpression(node) ? (node.arguments ?? []) : [];
    const at = PLACES[callee];
    if (at !== undefined) found.push(...textsOf(args[at], source));
    if (ts.isPropertyAssignment(node) && node.name.getText() === 'reason') {
      found.push(...textsOf(node.initializer, source));
    }
    ts.forEachChild(node, walk);
  };
  walk(source);
  return found;
}

/** The reasons in the sources of some folders, each with the file that gives it. */
function inSources(...folders: readonly string[]): ReadonlyMap<string, string> {
  const files = folders.flatMap((folder) =>
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

/** The reasons that kinds declare, and those of the runner. */
const DECLARED: Reasons = Object.assign(
  {},
  COMMON_REASONS,
  ...KINDS.map(({ reasons }) => reasons),
) as Reasons;

/** The folder of a kind's code. */
const folderOf = ({ definition }: AnyKind): string => {
  const folders = readdirSync(`${ROOT}constructs/kinds`);
  const found = folders.find((folder) => {
    const file = `${ROOT}constructs/kinds/${folder}/definition.ts`;
    return existsSync(file) && readFileSync(file, 'utf8').includes(`kind: '${definition.kind}'`);
  });
  return `constructs/kinds/${found ?? ''}`;
};

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

/** What the page calls a kind; kinds that stand for documents of a site share their rows. */
const pageWord = ({ definition, reasons }: AnyKind): string =>
  'DocumentFailed' in reasons ? 'document' : definition.singular.replace(/^(app|site)/, '');

test('every folder of constructs/kinds is a registered kind', () => {
  assert.deepEqual(
    KINDS.map(folderOf).sort(),
    readdirSync(`${ROOT}constructs/kinds`)
      .map((name) => `constructs/kinds/${name}`)
      .sort(),
  );
});

suite('the reasons that kinds declare', () => {
  test('are all reasons that the code gives, and no others', () => {
    const given = inSources('constructs', 'runner');
    assert.deepEqual(Object.keys(DECLARED).sort(), [...given.keys()].sort());
  });
  for (const kind of KINDS) {
    test(`include the reasons that the code of ${kind.definition.kind} gives`, () => {
      const declared = { ...COMMON_REASONS, ...kind.reasons };
      const given = [...inSources(folderOf(kind)).keys()];
      assert.deepEqual(
        given.filter((reason) => !(reason in declared)),
        [],
      );
    });
    test(`and durable fields of ${kind.definition.kind} are in its schema`, () => {
      const fields = Object.keys(kind.definition.status.properties ?? {});
      const { durableStatus, durableOnChange = [], lastSuccess } = kind;
      for (const field of [...durableStatus, ...durableOnChange, lastSuccess ?? 'phase']) {
        assert.ok(fields.includes(field), field);
      }
    });
  }
});

suite('docs/reasons.md', () => {
  test('explains every declared reason, and no others', () => {
    assert.deepEqual(first(rowsOf('Conditions')), Object.keys(DECLARED).sort());
  });
  test('lists the recorded events: one for each reason of Ready that is not progress', () => {
    for (const [cell = '', , condition = '', status = '', event] of rowsOf('Conditions')) {
      const reason = cell.replaceAll('`', '');
      const recorded =
        condition.includes('`Ready`') && reasonClass({ reasons: DECLARED }, reason) !== 'progress';
      assert.equal(event, recorded ? (status === 'True' ? 'Normal' : 'Warning') : 'none', reason);
    }
  });
  test('has a row for every condition of the golden scenarios', () => {
    const rows = rowsOf('Conditions');
    const terminations = first(rowsOf('Termination messages of Jobs'));
    const outcomes = scenarioNames().flatMap((name) =>
      outcomesOf(readScenario(name)).map((outcome) => ({ name, ...outcome })),
    );
    for (const { name, resource, status } of outcomes) {
      const owner = kindOf(resource);
      const kind = pageWord(owner);
      const declared = { ...COMMON_REASONS, ...owner.reasons };
      for (const { type, reason, status: value } of status.conditions ?? []) {
        if (['Reconciling', 'Stalled'].includes(type)) continue;
        // A failed Job's termination message has its own reasons.
        if (type === 'Ready' && terminations.includes(reason)) continue;
        assert.ok(reason in declared, `${name}: ${resource.kind} declares no reason ${reason}`);
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
  });
  test('explains the termination message of every job, and no others', () => {
    const texts = Object.values(scripts).join('\n');
    const patterns = [
      /(?:JobError|S3Error|report|fail|set_termination_message)\(\s*"([A-Z]\w+)"/g,
      /^ +reason = "([A-Z]\w+)"/gm,
      /app-operator: ([A-Z]\w+): /g,
      /run_(?:step|bench|program)\([\w.]+, (?:"[a-z-]+", )?"([A-Z]\w+)"/g,
      /^(?:(?:MIGRATION|RESTORE)_FAILED|TERMINATED|TIMED_OUT|VOLUME_NOT_READABLE) = "(\w+)"/gm,
      /\bdie ([A-Z]\w+) /g,
      /\breason = "([A-Z]\w+)"/g,
    ];
    const named = patterns.flatMap((pattern) =>
      [...texts.matchAll(pattern)].map(([, name]) => name),
    );
    assert.deepEqual(
      first([
        ...rowsOf('Termination messages of Jobs'),
        ...rowsOf('Termination messages of other containers'),
      ]),
      [...new Set(named)].sort(),
    );
  });
  test('states what to do for each problem', () => {
    for (const [reason = '', , , status, , meaning = '', todo = ''] of rowsOf('Conditions')) {
      assert.notEqual(meaning, '', reason);
      if (status === 'False') assert.notEqual(todo, '', reason);
    }
  });
});
