/** `npm run lint:workflows`: actionlint on `.github/workflows`. Without Go it is left out, but not in CI. */
import '../../runner/kit/require-node.js';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { run } from '../../testbed/controlplane/run.js';
import { projectRoot } from '../../testbed/project-root.js';
import { ensureTool, ToolMissing } from './external-tools.js';

try {
  const cwd = projectRoot();
  const folder = path.join(cwd, '.github', 'workflows');
  const files = (await readdir(folder)).map((name) => path.join(folder, name));
  await run(await ensureTool('actionlint'), ['-shellcheck=', '-pyflakes=', ...files], { cwd });
} catch (error) {
  const left = error instanceof ToolMissing && !process.env['CI'];
  console.error(`${left ? 'workflows are not checked: ' : ''}${(error as Error).message}`);
  if (!left) process.exitCode = 1;
}
