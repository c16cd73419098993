/**
 * Makes everything that a release publishes, in `dist/release/`, and checks each artifact with the tools of
 * those who use it.
 *
 *     npm run release -- --dry-run             publish to a registry on this machine, which ends with it
 *     npm run release -- --dry-run --strict    fail also where a check is left out for lack of its tool
 *     npm run release                          publish: for the workflow, on a tag
 */
import '../../runner/kit/require-node.js';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { PROJECT } from '../../constructs/project.js';
import { VERSION } from '../../runner/kit/version.js';
import { freePort } from '../../testbed/controlplane/ports.js';
import { projectRoot } from '../../testbed/project-root.js';
import { releaseOf } from '../generate/packages/changelog.js';
import { baseOf } from './image.js';
import { startRegistry } from './registry.js';
import type { Release } from './release.js';
import { runSteps } from './steps.js';

const { values } = parseArgs({
  options: {
    'dry-run': { type: 'boolean', default: false },
    strict: { type: 'boolean', default: false },
  },
});

const root = projectRoot();
const read = (file: string): string => readFileSync(path.join(root, file), 'utf8');

/** @throws Error where this is not the workflow of the project, on the tag of this version */
function refuseOutsideOfWorkflow(): void {
  const { GITHUB_REPOSITORY, GITHUB_REF_NAME } = process.env;
  const repository = `${PROJECT.owner}/${PROJECT.name}`;
  if (GITHUB_REPOSITORY === repository && GITHUB_REF_NAME === `v${VERSION}`) return;
  throw new Error(
    `release: publishing is for the workflow of ${repository} on tag v${VERSION}; to rehearse, add --dry-run`,
  );
}

async function main(): Promise<number> {
  const dryRun = values['dry-run'];
  if (!dryRun) refuseOutsideOfWorkflow();
  const out = path.join(root, 'dist', 'release');
  await rm(out, { recursive: true, force: true });
  await mkdir(out, { recursive: true });
  const scratch = await mkdtemp(path.join(tmpdir(), 'app-operator-release-'));
  try {
    await using registry = await startRegistry(await freePort());
    const release: Release = {
      root,
      out,
      scratch,
      version: VERSION,
      date: releaseOf(read('CHANGELOG.md'), VERSION).date,
      base: baseOf(read('Dockerfile')),
      registry: registry.address,
    };
    return await runSteps(release, { dryRun, strict: values.strict || !dryRun });
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

process.exitCode = await main();
