/**
 * Makes the image, the manifests, the chart and the npm package of a release in `dist/release/`, and pushes them.
 *
 *     npm run release -- --dry-run             publish to a registry on this machine, which ends with it
 *     npm run release -- --dry-run --strict    fail where the base image cannot be read
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

async function main(): Promise<void> {
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
      base: baseOf(read('Dockerfile')),
      registry: registry.address,
    };
    await runSteps(release, { dryRun, strict: values.strict || !dryRun });
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

await main();
