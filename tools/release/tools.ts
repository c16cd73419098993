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
  ah: { module: 'tools/release/go/ah', package: 'github.com/artifacthub/hub/cmd/ah' },
  cosign: {
    module: 'tools/release/go/cosign',
    package: 'github.com/sigstore/cosign/v3/cmd/cosign',
  },
  crane: { module: LINTERS, package: 'github.com/google/go-containerregistry/cmd/crane' },
  // Argo CD's virtual machine and Flux's evaluator of health checks.
  gitops: { module: 'testbed/gitops/go', package: '.' },
  kubeconform: { module: LINTERS, package: 'github.com/yannh/kubeconform/cmd/kubeconform' },
  'kube-score': {
    module: 'tools/release/go/kube-score',
    package: 'github.com/zegl/kube-score/cmd/kube-score',
  },
  krew: { module: LINTERS, package: 'sigs.k8s.io/krew/cmd/krew' },
  'operator-sdk': {
    module: 'tools/release/go/operator-sdk',
    package: 'github.com/operator-framework/operator-sdk/cmd/operator-sdk',
    // Without libraries in C, for signatures and storage of images that it does not read here.
    tags: [
      'containers_image_openpgp',
      'exclude_graphdriver_btrfs',
      'exclude_graphdriver_devicemapper',
    ],
  },
  'validate-krew-manifest': {
    module: LINTERS,
    package: 'sigs.k8s.io/krew/cmd/validate-krew-manifest',
  },
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
