import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { access, mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { cacheRoot } from '../../testbed/controlplane/binaries.js';
import { run } from '../../testbed/controlplane/run.js';
import { projectRoot } from '../../testbed/root.js';

/** A tool that users run, as a Go module: `go.mod` in its folder has the version. */
interface GoTool {
  /** Folder of the module, from the project's root. */
  readonly module: string;
  readonly package: string;
  /** Build tags. @default none */
  readonly tags?: readonly string[];
}

const LINTERS = 'tools/release/go/linters';
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
} as const satisfies Record<string, GoTool>;

export type ToolName = keyof typeof TOOLS;

/** A tool that cannot be had on this machine. */
export class ToolMissing extends Error {}

/**
 * Path of a tool, which is built once into the cache, in a folder that its pins name.
 * @throws ToolMissing without Go, or where the build fails
 */
export async function ensureTool(name: ToolName): Promise<string> {
  const tool: GoTool = TOOLS[name];
  const module = path.join(projectRoot(), tool.module);
  const folder = path.join(cacheRoot(), `release-tools`, `${name}-${await keyOf(module, tool)}`);
  const file = path.join(folder, name);
  if (await isExecutable(file)) return file;
  await mkdir(folder, { recursive: true });
  const draft = await mkdtemp(path.join(folder, 'building-'));
  try {
    await build(tool, module, path.join(draft, name));
    await rename(path.join(draft, name), file);
  } catch (error) {
    const missing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    if (missing) throw new ToolMissing(`${name}: go not found; install Go 1.26 or newer`);
    throw new ToolMissing(`${name}: not built: ${(error as Error).message}`);
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
  return file;
}

async function build(tool: GoTool, module: string, output: string): Promise<void> {
  const tags = tool.tags === undefined ? [] : ['-tags', tool.tags.join(',')];
  const args = ['build', '-mod=readonly', '-trimpath', '-ldflags', '-s -w', ...tags];
  // A workspace or flags of the user's own projects must not reach this build.
  const env = { ...process.env, CGO_ENABLED: '0', GOWORK: 'off', GOFLAGS: '-buildvcs=false' };
  await run('go', [...args, '-o', output, tool.package], { cwd: module, env });
}

/** Changes with every pin, and with the code of a tool of ours. */
async function keyOf(module: string, tool: GoTool): Promise<string> {
  const names = ['go.mod', 'go.sum', ...(tool.package === '.' ? ['main.go'] : [])];
  const hash = createHash('sha256').update(JSON.stringify([tool, process.platform, process.arch]));
  for (const name of names) hash.update(await readFile(path.join(module, name)));
  return hash.digest('hex').slice(0, 12);
}

async function isExecutable(file: string): Promise<boolean> {
  return access(file, constants.X_OK).then(
    () => true,
    () => false,
  );
}
