/**
 * Runs the cluster tests on other minor versions of Kubernetes:
 * `npm run test:versions -- [--quick] [--no-build] [minor]… [part of a file name]…`. Without a minor,
 * on all of them. With `--no-build`, a minor is left out whose servers would have to be built.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { parseArgs } from 'node:util';

import { BuildNeeded, ensureBinaries } from '../testbed/controlplane/binaries.js';
import { printProgress } from '../testbed/controlplane/progress.js';
import { MINORS, type Minor, readVersions } from '../testbed/controlplane/versions.js';

const ALL = ['api/', 'cluster/', 'testbed/controlplane/workloads'];
/** What depends on the version most: schemas, admission, server-side apply, workloads, deletion. */
const QUICK = [
  'api/goldens',
  'api/admission',
  'api/lifecycle',
  'api/deletion',
  'testbed/controlplane/workloads',
];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: 'boolean', default: false },
    'no-build': { type: 'boolean', default: false },
  },
});
const [minors, parts] = choose(positionals);
const files = parts.length > 0 ? parts : values.quick ? QUICK : ALL;
const results: string[] = [];
for (const minor of minors.length > 0 ? minors : MINORS) {
  results.push(`${readVersions(minor).kubernetes}: ${await runOn(minor)}`);
}
process.stdout.write(`\n${results.join('\n')}\n`);

function choose(args: readonly string[]): [minors: Minor[], parts: string[]] {
  const minors = MINORS.filter((minor) => args.includes(minor));
  const parts = args.filter((arg) => !minors.some((minor) => minor === arg));
  const unknown = parts.find((part) => /^v?\d+(\.\d+)*$/.test(part));
  if (unknown !== undefined) {
    throw new Error(`unknown version: "${unknown}"; use one of ${MINORS.join(', ')}`);
  }
  return [minors, parts];
}

async function runOn(minor: Minor): Promise<string> {
  process.env['KUBERNETES_VERSION'] = minor;
  try {
    // Before the tests: no test waits for a build.
    await ensureBinaries({ onProgress: printProgress, build: !values['no-build'] });
  } catch (error) {
    if (error instanceof BuildNeeded) return `NOT TESTED: ${error.message}`;
    throw error;
  }
  process.stdout.write(`\nKubernetes ${readVersions().kubernetes}\n`);
  const child = spawn(process.execPath, [new URL('run.js', import.meta.url).pathname, ...files], {
    stdio: 'inherit',
  });
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) process.exitCode = 1;
  return code === 0 ? 'passed' : 'failed';
}
