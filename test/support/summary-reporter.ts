/**
 * Reporter of the test commands. Failures are printed when they happen and again at the end, then what
 * was skipped and how to test it. The last line is always `N passed, N failed, N skipped`.
 */
import path from 'node:path';
import type { EventData } from 'node:test';
import type { TestEvent } from 'node:test/reporters';
import { inspect } from 'node:util';

import { projectRoot } from '../../testbed/project-root.js';

/** A suite or a test that takes longer has a line of its own. */
const LONG_MS = 30_000;

interface Failure {
  readonly title: string;
  readonly place: string;
  readonly error: string;
}

/** Counts the results of one or more runs of tests, and prints them. */
export class Summary {
  readonly #start = performance.now();
  readonly #failures: Failure[] = [];
  /** Titles of skipped tests and suites by reason. */
  readonly #skipped = new Map<string, string[]>();
  #passed = 0;
  #hasFailed = false;

  /** Whether a test, a suite or a file has failed. */
  get hasFailed(): boolean {
    return this.#hasFailed;
  }

  /** The text for each event of a run, when it happens. */
  async *of(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
    // Names of the suites around the test that is reported: a run reports its files one after the other.
    let suites: readonly string[] = [];
    for await (const event of events) {
      if (event.type === 'test:start') {
        suites = [...suites.slice(0, event.data.nesting), event.data.name];
      }
      yield this.#textOf(event, suites);
    }
  }

  /** The text after all runs; a remark stands before the counts. */
  end(remark = ''): string {
    const [failed, skipped] = [this.#failures, [...this.#skipped.values()].flat()];
    const failures = failed.length > 0 ? `\nFailed:\n${failed.map(ofFailure).join('')}` : '';
    const counts = `${this.#passed} passed, ${failed.length} failed, ${skipped.length} skipped\n`;
    const duration = `\nin ${seconds(performance.now() - this.#start)}:\n`;
    return `${ofSkipped(this.#skipped)}${remark}${failures}${duration}${counts}`;
  }

  #textOf(event: TestEvent, suites: readonly string[]): string {
    switch (event.type) {
      case 'test:pass':
        return this.#passedOrSkipped(event.data, suites);
      case 'test:fail':
        return this.#failed(event.data, suites);
      case 'test:summary':
        return event.data.file === undefined ? '' : ofFile(event.data);
      case 'test:stdout':
      case 'test:stderr':
        return event.data.message;
      default:
        return '';
    }
  }

  #passedOrSkipped(event: EventData.TestPass, suites: readonly string[]): string {
    const { skip, details } = event;
    if (skip !== undefined && skip !== false) {
      const reason = typeof skip === 'string' && skip !== '' ? skip : 'not applicable';
      const titles = this.#skipped.get(reason) ?? [];
      this.#skipped.set(reason, [...titles, titleOf(event, suites)]);
      return '';
    }
    if (details.type !== 'suite') this.#passed += 1;
    const { duration_ms: duration } = details;
    return duration > LONG_MS ? `  ${titleOf(event, suites)}: ${seconds(duration)}\n` : '';
  }

  #failed(event: EventData.TestFail, suites: readonly string[]): string {
    const { details, file, line, column } = event;
    const { cause, failureType } = details.error as Error & { readonly failureType?: string };
    this.#hasFailed = true;
    // A suite fails because of a test in it, which is reported by itself.
    if (failureType === 'subtestsFailed') return '';
    const failure = {
      title: titleOf(event, suites),
      place: `test at ${relative(file)}:${line ?? 1}:${column ?? 1}`,
      error: inspect(cause instanceof Error ? cause : details.error, { colors: false }),
    };
    this.#failures.push(failure);
    return ofFailure(failure);
  }
}

function titleOf(
  { name, nesting }: EventData.TestPass | EventData.TestFail,
  suites: readonly string[],
): string {
  return [...suites.slice(0, nesting), name].join(' > ');
}

function relative(file: string | undefined): string {
  return file === undefined ? 'unknown' : path.relative(projectRoot(), file);
}

/** `api/prune` of the path of a compiled test file. */
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

/** Of one run: `--test-reporter` takes it. */
async function* summaryReporter(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const summary = new Summary();
  yield* summary.of(events);
  yield summary.end();
}

// oxlint-disable-next-line house/no-default-export -- `--test-reporter` takes the default export
export default summaryReporter;
