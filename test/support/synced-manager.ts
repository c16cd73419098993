/**
 * A program: fills the caches of an operator from the API server at a URL. Prints the peak of its memory
 * in MiB, and the kinds of resources that have an object of a name.
 * @param argv the URL, namespace and name
 */
import { PassThrough } from 'node:stream';

import { KINDS } from '../../constructs/registry.js';
import { createClient } from '../../runner/api/client.js';
import { fixed } from '../../runner/api/credentials.js';
import { parseConfig } from '../../runner/config/config.js';
import { Manager } from '../../runner/manager.js';
import { createLogger } from '../../runner/telemetry/log.js';
import { OperatorMetrics } from '../../runner/telemetry/metrics.js';

const [, , server = '', namespace = '', name = ''] = process.argv;
const manager = new Manager({
  config: parseConfig([], {}),
  client: createClient({ credentials: fixed({ endpoint: { server, tls: {} }, headers: {} }) }),
  metrics: new OperatorMetrics(
    KINDS.map(({ definition }) => definition.kind),
    false,
  ),
  log: createLogger({ logLevel: 'error', logEncoder: 'json' }, new PassThrough()),
});
await manager.sync();
const reader = manager.reader();
const found = KINDS.map(({ definition: { kind } }) => kind).filter(isCached);
const peak = Math.round(process.resourceUsage().maxRSS / 1_024);
process.stdout.write(JSON.stringify({ peak, found }));
process.exit();

/** Whether the caches have the object. A read of an invalid object throws: it is there. */
function isCached(kind: string): boolean {
  try {
    return reader?.get(kind, namespace, name, () => true) !== undefined;
  } catch {
    return true;
  }
}
