import { setTimeout as sleep } from 'node:timers/promises';

import type { ObjectKind } from '../../../constructs/kit/object-kind.js';
import { resourcePath } from '../../../runner/api/resource-path.js';
import { type AdminClient, ifExists } from '../../../testbed/controlplane/admin-client.js';
import type { Live } from './objects.js';

/** Before the next read where there is no object to watch, or the API server does not answer. */
const PAUSE_MS = 100;

/** Which object, and until when. */
export interface Observed {
  readonly kind: ObjectKind;
  /** Empty for an object of the whole cluster. */
  readonly namespace: string;
  readonly name: string;
  readonly signal: AbortSignal;
}

/**
 * An object as it is now, then after each change, until the signal is aborted; undefined while it does not
 * exist. Errors of the API server are retried: tests restart it.
 */
export async function* observed(api: AdminClient, one: Observed): AsyncGenerator<Live | undefined> {
  const path = resourcePath(one.kind, one.namespace || undefined, one.name);
  while (!one.signal.aborted) {
    try {
      const object = (await ifExists(api.request('GET', path))) as Live | undefined;
      yield object;
      if (object) yield* changes(api, one, object);
    } catch {
      // As where there is no object: read again.
    }
    await sleep(PAUSE_MS);
  }
}

/** What an object becomes, until it is deleted or the watch ends. */
async function* changes(
  api: AdminClient,
  { kind, namespace, name, signal }: Observed,
  { metadata: { resourceVersion } }: Live,
): AsyncGenerator<Live> {
  const collection = resourcePath(kind, namespace || undefined);
  const query = { fieldSelector: `metadata.name=${name}`, resourceVersion };
  for await (const { type, object } of api.watch(collection, query, signal)) {
    if (type === 'DELETED') return;
    yield object;
  }
}
