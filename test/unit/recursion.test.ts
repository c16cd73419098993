import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));

/**
 * The functions of the runner and of constructs/ that call themselves, with what bounds them. An error of
 * the stack is one of the object: the sinks of the caches, and each reconcile, catch it.
 */
const BOUNDED: Readonly<Record<string, string>> = {
  'constructs/frappe/pod-template.ts mergedFields mergedItems strategicMerge':
    '`templateProblems` admits no deeper template',
  'constructs/install/cel.ts some': 'the path of a field, which is ours',
  'constructs/kit/json/equal.ts equal': 'the caches keep no deep value of a resource',
  'constructs/kit/json/canonical.ts this.#fields this.#items this.value':
    'the same; of other objects, the picked value',
  'constructs/kit/plain-object.ts sortedCopy': 'the tree, as deep as its templates',
  'constructs/kit/schema/node.ts compile': 'our schema',
  'constructs/kit/schema/rule-problems.ts celValue': 'our schema',
  'constructs/kit/schema/rule-problems.ts ruleProblems': 'our schema',
  'constructs/kit/schema/stored-value.ts stored storedObject': 'our schema',
  'constructs/kit/schema/typed-fields.ts below misfit': 'our schema',
  'constructs/kit/schema/violations.ts violations': 'our schema',
  'runner/admission/normalize.ts textsAt': 'the path, which is ours',
  'runner/apply/applier.ts this.#change': 'a second attempt, with a live object',
  'runner/apply/as-applied.ts isSame isSameList': 'the object that is wanted',
  'runner/cache/crd-check.ts missingFields': 'our schema',
  'runner/cache/discovery.ts this.#poll this.#schedule': 'one call each time that a timer ends',
  'runner/cache/managed-fields.ts writePart writeSelected':
    'an error of the stack makes the child invalid',
  'runner/config/config.ts deepFreeze': 'our configuration',
  'runner/queue/workqueue.ts this.#pump this.#retry this.#run this.add this.addAfter':
    'the workers',
  'runner/leader/leader-election.ts this.release': 'its own limit',
  'runner/reconcile/live-resources.ts this.isCurrentWithParents':
    'the references of our kinds, which form no circle',
  'runner/telemetry/log.ts messages': 'its own limit',
  'runner/monitoring/monitoring-reconciler.ts contains': 'the object that is wanted, which is ours',
  'runner/monitoring/monitoring-reconciler.ts this.#failed this.#reconcile this.#requeue':
    'one call each time that a timer ends',
  'runner/telemetry/redact.ts concealed': 'its own limit',
  'runner/telemetry/redact.ts redact': 'its own limit',
};

test('every function that calls itself is bounded', () => {
  const found = ['runner', 'constructs'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts') && !file.endsWith('.generated.ts'))
      .flatMap((file) => cyclesOf(join(folder, file))),
  );
  assert.deepEqual(found.sort(), Object.keys(BOUNDED).sort());
});

/** The groups of functions of a file that call each other in a circle. */
function cyclesOf(file: string): readonly string[] {
  const source = ts.createSourceFile(
    file,
    readFileSync(join(ROOT, file), 'utf8'),
    ts.ScriptTarget.Latest,
    true,
  );
  const calls = new Map<string, Set<string>>();
  const visit = (node: ts.Node, inside: string | undefined): void => {
    const name = nameOf(node) ?? inside;
    if (name !== undefined && !calls.has(name)) calls.set(name, new Set());
    const called = ts.isCallExpression(node) ? calleeOf(node.expression) : undefined;
    if (name !== undefined && called !== undefined) calls.get(name)?.add(called);
    ts.forEachChild(node, (child) => visit(child, name));
  };
  visit(source, undefined);
  const reached = new Map([...calls.keys()].map((name) => [name, reachableFrom(name, calls)]));
  const groups = [...calls.keys()]
    .filter((name) => reached.get(name)?.has(name))
    .map((name) =>
      [...calls.keys()]
        .filter((other) => reached.get(name)?.has(other) && reached.get(other)?.has(name))
        .sort()
        .join(' '),
    );
  return [...new Set(groups)].map((group) => `${file} ${group}`);
}

/** The name of a function that a node declares: a method, a function, or a constant with one. */
function nameOf(node: ts.Node): string | undefined {
  if (ts.isMethodDeclaration(node)) return `this.${node.name.getText()}`;
  if (ts.isFunctionDeclaration(node)) return node.name?.getText();
  const value = ts.isVariableDeclaration(node) ? node.initializer : undefined;
  return value && (ts.isArrowFunction(value) || ts.isFunctionExpression(value))
    ? (node as ts.VariableDeclaration).name.getText()
    : undefined;
}

/** What a call names, if it is of the same file: a function, or a method of `this`. */
function calleeOf(callee: ts.Expression): string | undefined {
  if (ts.isIdentifier(callee)) return callee.text;
  const isOwn =
    ts.isPropertyAccessExpression(callee) && callee.expression.kind === ts.SyntaxKind.ThisKeyword;
  return isOwn ? `this.${callee.name.getText()}` : undefined;
}

function reachableFrom(
  start: string,
  calls: ReadonlyMap<string, ReadonlySet<string>>,
): ReadonlySet<string> {
  const seen = new Set<string>();
  const left = [...(calls.get(start) ?? [])];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    if (seen.has(next)) continue;
    seen.add(next);
    left.push(...(calls.get(next) ?? []));
  }
  return seen;
}
