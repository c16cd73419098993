/**
 * Reporter of the test commands. Failures are printed when they happen and again at the end, then what
 * was skipped and how to test it. The last line is always `N passed, N failed, N skipped`.
 */
import path from 'node:path';
import type { EventData } from 'node:test';
import type { TestEvent } from 'node:test/reporters';
import { inspect } from 'node:util';

import { projectRoot } from '../../testbed/root.js';

interface Failure {
  readonly title: string;
  readonly place: string;
  readonly error: string;
}

class Summary {
  passed = 0;
  readonly failures: Failure[] = [];
  /** Titles of skipped tests and suites by reason. */
  readonly skipped = new Map<string, string[]>();
  /** Names of the suites around the test that is reported; files are reported one after the other. */
  #parents: readonly string[] = [];

  started({ name, nesting }: EventData.TestStart): void {
    this.#parents = [...this.#parents.slice(0, nesting), name];
  }

  passedOrSkipped(event: EventData.TestPass): void {
    const { skip, details } = event;
    if (skip !== undefined && skip !== false) {
      const reason = typeof skip === 'string' && skip !== '' ? skip : 'not applicable';
      const titles = this.skipped.get(reason) ?? [];
      this.skipped.set(reason, [...titles, this.#title(event)]);
    } else if (details.type !== 'suite') {
      this.passed += 1;
    }
  }

  failed(event: EventData.TestFail): Failure | undefined {
    const { details, file, line, column } = event;
    const { cause, failureType } = details.error as Error & { readonly failureType?: string };
    // A suite fails because of a test in it, which is reported by itself.
    if (failureType === 'subtestsFailed') return undefined;
    const failure = {
      title: this.#title(event),
      place: `test at ${relative(file)}:${line ?? 1}:${column ?? 1}`,
      error: inspect(cause instanceof Error ? cause : details.error, { colors: false }),
    };
    this.failures.push(failure);
    return failure;
  }

  get skippedCount(): number {
    return [...this.skipped.values()].reduce((sum, titles) => sum + titles.length, 0);
  }

  #title({ name, nesting }: { readonly name: string; readonly nesting: number }): string {
    return [...this.#parents.slice(0, nesting), name].join(' > ');
  }
}

function relative(file: string | undefined): string {
  return file === undefined ? 'unknown' : path.relative(projectRoot(), file);
}

/** `cluster/prune` of the path of a compiled test file. */
function shortName(file: string | undefined): string {
  return relative(file)
    .replace(/^dist\/lib\/test\//, '')
    .replace(/(\.test)?\.js$/, '');
}

function seconds(milliseconds: number): string {
  return `${(milliseconds / 1_000).toFixed(1)} s`;
}

function ofFailure({ title, place, error }: Failure): string {
  return `✖ ${title}\n${place}\n${error.replace(/^/gm, '  ')}\n`;
}

/** One line for each file of a run whose files have a process each. */
function ofFile({ file, counts, duration_ms: duration }: EventData.TestSummary): string {
  const mark = counts.passed + counts.skipped + counts.todo < counts.tests ? '✖' : '✔';
  const skipped = counts.skipped > 0 ? `, ${counts.skipped} skipped` : '';
  return `${mark} ${shortName(file)}: ${counts.passed} passed${skipped}, ${seconds(duration)}\n`;
}

const PACKAGES = /apt-get install ([a-z0-9 .+-]+)/;

/** What was not tested, why, and the one command that tests what only lacks packages. */
function ofSkipped(skipped: ReadonlyMap<string, readonly string[]>): string {
  if (skipped.size === 0) return '';
  const packages = new Set<string>();
  const lines = [...skipped].map(([reason, titles]) => {
    const names = PACKAGES.exec(reason)?.[1]?.trim().split(' ') ?? [];
    for (const name of names) packages.add(name);
    const text = reason.replace(/^NOT TESTED: /, '').replace(/ \(apt-get install .*\)$/, '');
    const examples = titles.length > 2 ? [...titles.slice(0, 2), '…'] : titles;
    return `- ${text} (${titles.length}): ${examples.join('; ')}\n`;
  });
  const command =
    packages.size === 0
      ? ''
      : `Test what lacks a server, as root: apt-get install ${[...packages].sort().join(' ')} && npm test\n`;
  return `\nNot tested:\n${lines.join('')}${command}`;
}

function textOf(event: TestEvent, summary: Summary): readonly string[] {
  if (event.type === 'test:start') {
    summary.started(event.data);
  } else if (event.type === 'test:pass') {
    summary.passedOrSkipped(event.data);
  } else if (event.type === 'test:fail') {
    const failure = summary.failed(event.data);
    return failure ? [ofFailure(failure)] : [];
  } else if (event.type === 'test:summary') {
    return event.data.file === undefined ? [] : [ofFile(event.data)];
  } else if (event.type === 'test:stdout' || event.type === 'test:stderr') {
    return [event.data.message];
  }
  return [];
}

export async function* summaryReporter(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const summary = new Summary();
  const start = performance.now();
  for await (const event of events) {
    yield* textOf(event, summary);
  }
  const { failures, skipped, passed, skippedCount } = summary;
  yield ofSkipped(skipped);
  if (failures.length > 0) yield `\nFailed:\n${failures.map(ofFailure).join('')}`;
  yield `\nin ${seconds(performance.now() - start)}:\n`;
  yield `${passed} passed, ${failures.length} failed, ${skippedCount} skipped\n`;
}

// eslint-disable-next-line no-restricted-syntax -- `--test-reporter` takes the default export
export default summaryReporter;
