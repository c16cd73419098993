/** Reporter of `npm run mutations`: a line of JSON for each test. */
import path from 'node:path';
import type { TestEvent } from 'node:test/reporters';

/** What became of a test. */
export interface Result {
  /** Short name of the file, such as `e2e/requests`. */
  readonly file: string;
  readonly title: string;
  readonly outcome: 'passed' | 'failed' | 'skipped';
  /** Of a failed test. */
  readonly message: string;
}

/** `e2e/requests` of the path of a compiled test file. */
function shortName(file = ''): string {
  const [, name = file] = /\/dist\/lib\/test\/(.*?)(?:\.test)?\.js$/.exec(file) ?? [];
  return name.split(path.sep).join('/');
}

function messageOf(error: Error): string {
  return error.cause instanceof Error ? error.cause.message : error.message;
}

function hasOwnFailure(error: Error & { readonly failureType?: string }): boolean {
  return error.failureType !== 'subtestsFailed';
}

function resultOf(event: TestEvent): Result | undefined {
  if (event.type !== 'test:pass' && event.type !== 'test:fail') return undefined;
  const { name, file, details, skip } = event.data;
  const failed = event.type === 'test:fail';
  // A suite counts where it fails by itself, in what it does before its tests.
  if (details.type === 'suite' && !(failed && hasOwnFailure(event.data.details.error))) {
    return undefined;
  }
  const passed = skip !== undefined && skip !== false ? 'skipped' : 'passed';
  return {
    file: shortName(file),
    title: name,
    outcome: failed ? 'failed' : passed,
    message: failed ? messageOf(event.data.details.error) : '',
  };
}

async function* reporter(events: AsyncIterable<TestEvent>): AsyncGenerator<string, void> {
  for await (const event of events) {
    const result = resultOf(event);
    if (result) yield `${JSON.stringify(result)}\n`;
  }
}

// oxlint-disable-next-line house/no-default-export -- `--test-reporter` takes the default export
export default reporter;
