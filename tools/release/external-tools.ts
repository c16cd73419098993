import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { messageOf } from '../../constructs/kit/errors.js';
import { ensureBuilt } from '../../testbed/controlplane/binaries.js';
import type { Recipe } from '../../testbed/controlplane/build.js';
import { cacheKey, pinsIn } from '../../testbed/controlplane/versions.js';
import { projectRoot } from '../../testbed/project-root.js';

const LINTERS = 'tools/release/go/linters';
/** Tools that users run. Each `module` is a folder from the project's root. */
const TOOLS = {
  actionlint: { module: LINTERS, package: 'github.com/rhysd/actionlint/cmd/actionlint' },
  crane: { module: LINTERS, package: 'github.com/google/go-containerregistry/cmd/crane' },
  // Argo CD's virtual machine and Flux's evaluator of health checks.
  gitops: { module: 'testbed/gitops/go', package: '.' },
} as const satisfies Record<string, Recipe>;

export type ToolName = keyof typeof TOOLS;

/** A tool that cannot be had on this machine. */
export class ToolMissing extends Error {}

/**
 * Path of a tool, which is built once into the cache, in a folder that its pins name.
 * @throws ToolMissing without Go, or where the build fails
 */
export async function ensureTool(name: ToolName): Promise<string> {
  const tool: Recipe = TOOLS[name];
  const module = path.join(projectRoot(), tool.module);
  const own = tool.package === '.' ? [await readFile(path.join(module, 'main.go'), 'utf8')] : [];
  const key = cacheKey(name, [JSON.stringify(tool), ...pinsIn(module), ...own]);
  const recipes = { [name]: { ...tool, module } } as Readonly<Record<ToolName, Recipe>>;
  try {
    return (await ensureBuilt({ key, recipes }, [name]))[name];
  } catch (error) {
    throw new ToolMissing(messageOf(error), { cause: error });
  }
}
