import type { Cluster } from '../harness.js';
import { aBench, aSite } from './builders.js';

/** A namespace with a bench and the site `shop` on it, which is Ready. */
export async function aShop(cluster: Cluster): Promise<string> {
  const namespace = await cluster.namespace();
  await cluster.apply(
    namespace,
    aBench('bench'),
    aSite('shop', { bench: 'bench', workloads: 'Shared' }),
  );
  await cluster.ready('AppSite', namespace, 'shop');
  return namespace;
}
