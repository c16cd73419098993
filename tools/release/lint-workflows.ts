/** `npm run lint:workflows`: actionlint on `.github/workflows`. Without Go it is left out, but not in CI. */
import '../../runner/kit/require-node.js';
import { lintWorkflows } from './checks.js';
import { ToolMissing } from './tools.js';

try {
  await lintWorkflows();
} catch (error) {
  const left = error instanceof ToolMissing && !process.env['CI'];
  console.error(`${left ? 'workflows are not checked: ' : ''}${(error as Error).message}`);
  if (!left) process.exitCode = 1;
}
