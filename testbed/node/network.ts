import { fileURLToPath } from 'node:url';

import type { Place } from '../controlplane/options.js';
import { run } from '../controlplane/run.js';

const FIRST = 150;
const LAST = 249;

/**
 * The addresses of one node: all of 10.<octet>.0.0/16, of which no other network of this machine
 * has any.
 */
export interface NodeNetwork {
  readonly namespace: string;
  readonly nodeAddress: string;
  /** Of this machine, as pods see it. */
  readonly hostAddress: string;
  readonly serviceRange: string;
  readonly serviceAddress: string;
  readonly dnsAddress: string;
  readonly podRange: string;
  /** Name of the veth on this machine's side. */
  readonly link: string;
}

/** Finds a network that is free, and reserves it by making its namespace. */
export async function reserveNetwork(): Promise<NodeNetwork> {
  const routes = await run('ip', ['-4', 'route', 'show', 'table', 'all']);
  for (let octet = FIRST; octet <= LAST; octet++) {
    if (routes.includes(`10.${octet}.`)) continue;
    const network = networkOf(octet);
    // Fails where another process has just taken it.
    const made = await run('ip', ['netns', 'add', network.namespace]).then(
      () => true,
      () => false,
    );
    if (made) return network;
  }
  throw new Error(`no network 10.${FIRST}.0.0/16 to 10.${LAST}.0.0/16 is free on this machine`);
}

function networkOf(octet: number): NodeNetwork {
  const prefix = `10.${octet}`;
  return {
    namespace: `app-operator-${octet}`,
    nodeAddress: `${prefix}.0.1`,
    hostAddress: `${prefix}.0.254`,
    serviceRange: `${prefix}.64.0/18`,
    serviceAddress: `${prefix}.64.1`,
    dnsAddress: `${prefix}.64.10`,
    podRange: `${prefix}.128.0/17`,
    link: `app-op-${octet}`,
  };
}

/** Where the control plane runs: in the node's network; `folder` has all that the node writes. */
export function placeOf(network: NodeNetwork, folder: string, socket: string): Place {
  const module = fileURLToPath(new URL('./take-down.js', import.meta.url));
  return {
    namespace: network.namespace,
    address: network.nodeAddress,
    serviceRange: network.serviceRange,
    serviceAddress: network.serviceAddress,
    setUp: () => connect(network),
    takeDown: [module, JSON.stringify({ network, folder, socket })],
  };
}

/** Joins the namespace to this machine by a veth pair; Services and pods are reached through it. */
async function connect(network: NodeNetwork): Promise<void> {
  const { namespace, link, nodeAddress, hostAddress, serviceRange, podRange } = network;
  const ip = (...args: string[]): Promise<string> => run('ip', args);
  const inside = (...args: string[]): Promise<string> => run('ip', ['-n', namespace, ...args]);
  await ip('link', 'add', link, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', namespace);
  await ip('address', 'add', `${hostAddress}/24`, 'dev', link);
  await ip('link', 'set', link, 'up');
  await inside('link', 'set', 'lo', 'up');
  await inside('address', 'add', `${nodeAddress}/24`, 'dev', 'eth0');
  await inside('link', 'set', 'eth0', 'up');
  for (const range of [serviceRange, podRange]) {
    await ip('route', 'add', range, 'via', nodeAddress);
  }
  // Only until kube-proxy's rules rewrite the destination: a packet needs a route to get there.
  await inside('route', 'add', serviceRange, 'via', hostAddress, 'src', nodeAddress);
  // The gateway that Calico gives to pods. The node answers for it where it knows a way to it,
  // whichever.
  await inside('route', 'add', '169.254.1.1', 'dev', 'eth0');
  const forward = 'echo 1 >/proc/sys/net/ipv4/ip_forward';
  await run('nsenter', [`--net=/run/netns/${namespace}`, 'sh', '-ec', forward]);
}
