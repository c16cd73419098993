import { test } from 'node:test';

import { run } from '../testbed/controlplane/run.js';
import { projectRoot } from '../testbed/project-root.js';

test('pure functions of the jobs, by pytest', async () => {
  await run('npm', ['run', '-s', 'jobs:test'], { cwd: projectRoot() });
});
