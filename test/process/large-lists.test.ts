import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { KINDS } from '../../constructs/registry.js';

/** The operator's container has 512 MiB: the rest is for reconciles and webhooks. */
const MAX_MIB = 300;
const KIB = 1_024;
/** As in the image. */
const FLAGS = ['--max-semi-space-size=2', '--heap-growing-percent=20'];
const MALLOC = {
  MALLOC_ARENA_MAX: '1',
  MALLOC_MMAP_THRESHOLD_: '131072',
  MALLOC_TRIM_THRESHOLD_: '131072',
};

/** Large objects of one kind. */
interface Many {
  readonly count: number;
  readonly annotations?: number;
  readonly data?: number;
}

/** A list as the operator requested it. */
interface List {
  readonly plural: string;
  readonly selector: string | null;
  readonly isMetadata: boolean;
}

interface Synced {
  readonly peak: number;
  /** The kinds of which the last object is in the caches. */
  readonly found: readonly string[];
  readonly lists: readonly List[];
}

/** Starts an operator in a cluster with large objects, by plural. */
async function synced(t: TestContext, cluster: Readonly<Record<string, Many>>): Promise<Synced> {
  const lists: List[] = [];
  const server = createServer(answering(cluster, (list) => lists.push(list)));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const program = fileURLToPath(new URL('../support/synced-manager.js', import.meta.url));
  const last = Math.max(...Object.values(cluster).map(({ count }) => count)) - 1;
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [...FLAGS, program, `http://127.0.0.1:${port}`, 'default', `o-${last}`],
    { env: { ...process.env, ...MALLOC } },
  );
  return { ...(JSON.parse(stdout) as Pick<Synced, 'peak' | 'found'>), lists };
}

function answering(
  cluster: Readonly<Record<string, Many>>,
  onList: (list: List) => void,
): RequestListener {
  return ({ url, headers }, response) => {
    const { pathname, searchParams } = new URL(url ?? '', 'http://127.0.0.1');
    const plural = pathname.split('/').at(-1) ?? '';
    if (searchParams.has('watch')) response.flushHeaders();
    else if (/^v\d/.test(plural)) response.writeHead(404).end('{}');
    else {
      const isMetadata = headers.accept?.includes('PartialObjectMetadataList') ?? false;
      onList({ plural, selector: searchParams.get('labelSelector'), isMetadata });
      const many = cluster[plural] ?? { count: 0 };
      const start = Number(searchParams.get('continue') ?? 0);
      const end = Math.min(many.count, start + Number(searchParams.get('limit')));
      send(response, page(plural, { ...many, ...(isMetadata ? { data: 0 } : {}) }, start, end));
    }
  };
}

/** Sends as fast as the client reads: it may stop. */
function send(response: ServerResponse, parts: Iterator<string | Buffer, undefined>): void {
  for (;;) {
    const { value } = parts.next();
    if (value === undefined || response.destroyed) {
      response.end();
      return;
    }
    if (response.write(value)) continue;
    response.once('drain', () => {
      send(response, parts);
    });
    return;
  }
}

/** The text of a page, in parts. */
function* page(
  plural: string,
  { count, annotations = 0, data = 0 }: Many,
  start: number,
  end: number,
): Generator<string | Buffer, undefined> {
  const own = KINDS.find(({ definition: { kind } }) => `${kind.toLowerCase()}s` === plural);
  const [apiVersion, kind] = own
    ? ['app-operator.io/v1alpha1', own.definition.kind]
    : ['v1', 'Any'];
  const token = end < count ? `,"continue":"${end}"` : '';
  yield `{"apiVersion":"${apiVersion}","kind":"${kind}List","metadata":{"resourceVersion":"9"${token}},"items":[`;
  const annotation = Buffer.alloc(annotations, 'x');
  const value = Buffer.alloc(data, 'x');
  for (let at = start; at < end; at++) {
    const names = `"name":"o-${at}","namespace":"default","uid":"${plural}-${at}"`;
    yield `${at > start ? ',' : ''}{"metadata":{${names},"resourceVersion":"7","generation":1`;
    yield ',"annotations":{"x/y":"';
    yield annotation;
    yield '"}},"spec":{},"data":{"a":"';
    yield value;
    yield '"}}';
  }
  yield ']}';
}

describe('an operator starts within its memory', () => {
  test('in a cluster with large ConfigMaps', async (t) => {
    const { peak, lists } = await synced(t, { configmaps: { count: 200, data: 1_400 * KIB } });
    assert.ok(peak < MAX_MIB, `${peak} MiB`);
    const content = lists.filter(
      ({ plural, isMetadata }) => plural === 'configmaps' && !isMetadata,
    );
    assert.deepEqual(
      new Set(content.map(({ selector }) => selector)),
      new Set(['app.kubernetes.io/managed-by=app-operator']),
      'the content of others is not requested',
    );
  });

  test('where objects of each kind have many annotations', async (t) => {
    const many = { count: 120, annotations: 250 * KIB };
    const own = KINDS.map(({ definition: { kind } }) => kind);
    const { peak, found } = await synced(
      t,
      Object.fromEntries(
        [
          ...own.map((kind) => `${kind.toLowerCase()}s`),
          ...['configmaps', 'secrets', 'persistentvolumeclaims', 'ingresses'],
        ].map((plural) => [plural, many]),
      ),
    );
    assert.ok(peak < MAX_MIB, `${peak} MiB`);
    assert.deepEqual(found, own);
  });
});
