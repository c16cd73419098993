import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeObject } from '../../constructs/kit/object.js';
import { NGINX_PORT } from '../../constructs/kit/constants.generated.js';
import type { Client } from '../../runner/api/client.js';
import type { ControlPlane } from '../../testbed/controlplane/controlplane.js';
import { OperatorProcess } from '../../testbed/operator-process.js';
import { newSite, untilReady } from './ready.js';
import { aBench, aSite, BENCH_NAME, siteName } from './workload.js';

const NAMESPACE = 'default';
const TENANT = 'tenant';
/** Where the proxies of the benches are served instead of in pods. */
const ADDRESSES = { [NAMESPACE]: '127.0.71.1', [TENANT]: '127.0.71.2' };
const API = '/apis/app-operator.io/v1alpha1/namespaces';
const SAMPLES = 5;
const WATCH_MS = 20_000;
const CHUNK = Buffer.alloc(64 * 1024, 'a');

/** What the tenant's server does with a request. */
const BEHAVIOURS = {
  'answers pong': (_request: IncomingMessage, response: ServerResponse) => pong(response),
  'never answers': () => undefined,
  'streams without end': (_request: IncomingMessage, response: ServerResponse) => {
    response.on('error', () => undefined);
    const more = (): void => {
      while (!response.destroyed && response.write(CHUNK));
    };
    response.on('drain', more);
    more();
  },
} as const;
type Behaviour = keyof typeof BEHAVIOURS;

export interface HostileFigure {
  readonly behaviour: Behaviour;
  /** Checks of the tenant's sites while it was measured. */
  readonly checks: number;
  /** Seconds from the apply of another tenant's site until it is Ready. */
  readonly ready: readonly number[];
  /** Most resident memory of the operator, in MiB. */
  readonly memory: number;
}

/** The delay of a new site, and the operator's memory, while a tenant's servers misbehave. */
export async function measureHostile(
  cp: ControlPlane,
  client: Client,
  sites: number,
): Promise<readonly HostileFigure[]> {
  let behaviour: Behaviour = 'answers pong';
  let checks = 0;
  const servers = [
    await served(ADDRESSES[NAMESPACE], (_request, response) => pong(response)),
    await served(ADDRESSES[TENANT], (request, response) => {
      checks += 1;
      BEHAVIOURS[behaviour](request, response);
    }),
  ];
  try {
    await createTenant(client, sites, () => start(cp));
    const figures: HostileFigure[] = [];
    let next = 0;
    for (behaviour of Object.keys(BEHAVIOURS) as Behaviour[]) {
      checks = 0;
      const operator = await start(cp);
      // Every site of the tenant is checked at least once before a time is taken.
      while (checks < sites && behaviour === 'answers pong') await sleep(100);
      await sleep(WATCH_MS);
      const ready: number[] = [];
      for (let i = 0; i < SAMPLES; i++) ready.push(await newSite(client, NAMESPACE, next++));
      figures.push({ behaviour, checks, ready, memory: await operator.peakMemory() });
      await operator.stop();
    }
    return figures;
  } finally {
    for (const server of servers) server.closeAllConnections();
    for (const server of servers) server.close();
  }
}

function start(cp: ControlPlane): Promise<OperatorProcess> {
  return OperatorProcess.start({
    kubeconfig: cp.kubeconfig,
    logFile: process.env['BENCHMARK_LOG'],
    serviceAddresses: ADDRESSES,
  });
}

function pong(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end('{"message":"pong"}');
}

async function served(
  address: string,
  answer: (request: IncomingMessage, response: ServerResponse) => void,
) {
  const server = createServer(answer).listen(NGINX_PORT, address);
  await once(server, 'listening');
  return server;
}

/** Two benches, and the sites of the tenant, all Ready. */
async function createTenant(
  client: Client,
  sites: number,
  begin: () => Promise<OperatorProcess>,
): Promise<void> {
  const operator = await begin();
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: TENANT } };
  await client.apply(`/api/v1/namespaces/${TENANT}`, namespace, 'benchmark');
  for (const name of [NAMESPACE, TENANT]) {
    await client.apply(`${API}/${name}/appbenchs/${BENCH_NAME}`, aBench(name), 'benchmark');
    await untilReady(client, name, 'appbenchs', 1);
  }
  for (let index = 0; index < sites; index++) {
    const site = shared(aSite(TENANT, index));
    await client.apply(`${API}/${TENANT}/appsites/${siteName(index)}`, site, 'benchmark');
  }
  await untilReady(client, TENANT, 'appsites', sites);
  await operator.stop();
}

/** A site without pods of its own. */
function shared(site: KubeObject): KubeObject {
  return {
    ...site,
    spec: { ...(site as { spec?: object }).spec, workloads: 'Shared' },
  } as KubeObject;
}
