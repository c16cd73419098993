import { mkdir, readdir, symlink } from 'node:fs/promises';
import path from 'node:path';

import type { ControlPlane } from '../controlplane/controlplane.js';
import { type Binaries, ensureBuilt } from '../controlplane/binaries.js';
import type { Catalog } from '../controlplane/build.js';
import type { OnProgress } from '../controlplane/progress.js';
import { run } from '../controlplane/run.js';
import { cacheKey, pinned, pinsIn } from '../controlplane/versions.js';
import { ownFile } from '../own-file.js';
import { NODE_NAME, type Paths } from './configs.js';
import type { NodeNetwork } from './network.js';

const MODULE = 'github.com/projectcalico/calico';
const DEBIAN_PLUGINS = '/usr/lib/cni';
const HEALTH_PORT = 9099;

/**
 * Calico's programs: the network plugin `calico` joins pods to the node, Felix enforces
 * NetworkPolicies.
 */
export type CalicoProgram = 'calico' | 'felix';

/**
 * What a node needs of Calico, from the Go module proxy: programs, and the CRDs that Felix reads.
 */
export interface Calico {
  readonly programs: Binaries<CalicoProgram>;
  /** Folder of manifests. */
  readonly crds: string;
}

/**
 * Builds what is missing into the cache of the control plane's binaries; about three minutes the
 * first time.
 */
export async function ensureCalico(onProgress?: OnProgress): Promise<Calico> {
  const programs = await ensureBuilt(catalog(), ['calico', 'felix'], { onProgress });
  const module = JSON.parse(
    await run('go', ['mod', 'download', '-json', MODULE], { cwd: ownFile('node', 'go', 'calico') }),
  ) as { readonly Dir: string };
  return { programs, crds: path.join(module.Dir, 'libcalico-go', 'config', 'crd') };
}

function catalog(): Catalog<CalicoProgram> {
  const module = ownFile('node', 'go', 'calico');
  const pins = pinsIn(module);
  const commit =
    pinned(pins[0] ?? '', MODULE)
      .split('-')
      .at(-1) ?? '';
  const recipe = (command: string) => ({ module, package: `${MODULE}/${command}` });
  return {
    key: cacheKey(`calico-${commit}`, pins),
    recipes: { calico: recipe('cni-plugin/cmd/calico'), felix: recipe('felix/cmd/calico-felix') },
  };
}

/** A folder of network plugins: Debian's, and Calico's own. */
export async function writePlugins(folder: string, { programs }: Calico): Promise<void> {
  await mkdir(folder, { recursive: true });
  const names = (await readdir(DEBIAN_PLUGINS)).filter((name) => name !== 'calico');
  await Promise.all(
    names.map((name) => symlink(path.join(DEBIAN_PLUGINS, name), path.join(folder, name))),
  );
  // The program acts by the name that it is started with.
  await symlink(programs.calico, path.join(folder, 'calico'));
}

/** Pods with addresses that are routed one by one and never masqueraded. */
export function pluginConfig(
  { podRange }: NodeNetwork,
  { folder }: Paths,
  kubeconfig: string,
): string {
  const calico = {
    type: 'calico',
    datastore_type: 'kubernetes',
    kubernetes: { kubeconfig },
    nodename: NODE_NAME,
    nodename_file_optional: true,
    log_level: 'warning',
    log_file_path: `${folder}/logs/calico.log`,
    ipam: {
      type: 'host-local',
      dataDir: `${folder}/run/addresses`,
      ranges: [[{ subnet: podRange }]],
    },
    policy: { type: 'k8s' },
    // A pod starts when Felix has set up its connections, or after this time.
    policy_setup_timeout_seconds: 60,
    endpoint_status_dir: `${statusFolder(folder)}/endpoint-status`,
  };
  const ports = { type: 'portmap', capabilities: { portMappings: true } };
  return JSON.stringify({ cniVersion: '0.3.1', name: 'pods', plugins: [calico, ports] });
}

/** Felix reports there, in the folder `endpoint-status`, which pods it has connected. */
function statusFolder(folder: string): string {
  return `${folder}/run/calico`;
}

interface FelixProps {
  readonly controlPlane: ControlPlane;
  readonly calico: Calico;
  readonly network: NodeNetwork;
  readonly paths: Paths;
  readonly kubeconfig: string;
}

/** Starts Felix, and waits until it enforces the existing NetworkPolicies. */
export async function startFelix(props: FelixProps): Promise<void> {
  const { controlPlane, calico, kubeconfig } = props;
  const { nodeAddress } = props.network;
  const { folder } = props.paths;
  await mkdir(statusFolder(folder), { recursive: true });
  await installCrds(controlPlane, calico.crds);
  const settings = {
    DATASTORE_TYPE: 'kubernetes',
    KUBECONFIG: kubeconfig,
    FELIX_FELIXHOSTNAME: NODE_NAME,
    FELIX_LOGFILEPATH: 'none',
    FELIX_LOGSEVERITYSYS: 'none',
    FELIX_LOGSEVERITYSCREEN: 'warning',
    FELIX_USAGEREPORTINGENABLED: 'false',
    FELIX_IPV6SUPPORT: 'false',
    FELIX_IPTABLESBACKEND: 'nft',
    FELIX_XDPENABLED: 'false',
    // DNS and the API server run on the node itself.
    FELIX_DEFAULTENDPOINTTOHOSTACTION: 'ACCEPT',
    FELIX_ENDPOINTSTATUSPATHPREFIX: statusFolder(folder),
    FELIX_HEALTHENABLED: 'true',
    FELIX_HEALTHHOST: nodeAddress,
    FELIX_HEALTHPORT: String(HEALTH_PORT),
  };
  const environment = Object.entries(settings).map(([name, value]) => `${name}=${value}`);
  await controlPlane.start('felix', 'env', [...environment, calico.programs.felix]);
  await controlPlane.api.until('Felix to be ready', async () => {
    const answer = await fetch(`http://${nodeAddress}:${HEALTH_PORT}/readiness`).catch(
      () => undefined,
    );
    return answer?.ok === true;
  });
}

async function installCrds(controlPlane: ControlPlane, folder: string): Promise<void> {
  await controlPlane.kubectl(['create', `--filename=${folder}`]);
  const established = ['--for=condition=Established', 'crd', '--all', '--timeout=180s'];
  await controlPlane.kubectl(['wait', ...established]);
  const ready = {
    apiVersion: 'crd.projectcalico.org/v1',
    kind: 'ClusterInformation',
    metadata: { name: 'default' },
    spec: { datastoreReady: true },
  };
  // "Established" comes a moment before the kind is served.
  await controlPlane.api.until('ClusterInformation to be served', async () => {
    await controlPlane.api.ensure('/apis/crd.projectcalico.org/v1/clusterinformations', ready);
    return true;
  });
}
