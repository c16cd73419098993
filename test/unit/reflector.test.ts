import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import type { KubeObject } from '../../constructs/kit/object.js';
import { ApiError, ConnectionError } from '../../runner/api/api-error.js';
import type { Client, Method, Query, RequestOptions, WatchEvent } from '../../runner/api/client.js';
import { Reflector, type ReflectorProps } from '../../runner/cache/reflector.js';

/** Waits are as long as they are on average: a factor of 1, of those between 0.5 and 1.5. */
const MIDDLE = 0.5;
const PATH = '/apis/apps/v1/deployments';
const gone = new ApiError(410, 'Expired', {}, 'WATCH: 410');
const refused = new ConnectionError('GET', 'ECONNREFUSED');
const broken = new ConnectionError('WATCH', 'UND_ERR_SOCKET');

const object = (name: string, version: number): KubeObject => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name, resourceVersion: String(version) },
});
const event = (type: WatchEvent['type'], name: string, version: number): WatchEvent => ({
  type,
  object: object(name, version),
});
const list = (version: number, names: readonly string[], next?: string) => ({
  apiVersion: 'apps/v1',
  kind: 'DeploymentList',
  metadata: { resourceVersion: String(version), ...(next === undefined ? {} : { continue: next }) },
  items: names.map((name) => ({ metadata: { name, resourceVersion: '1' } })),
});

type Answer = ReturnType<typeof list> | { readonly [field: string]: unknown } | Error;
/** A watch: events, then its end, or an error; `hang` keeps it open. */
type Script = readonly (WatchEvent | Error | 'hang' | (() => void))[];

interface Call {
  readonly what: 'list' | 'watch' | 'version';
  readonly query: Query;
  readonly options: { readonly accept?: string; readonly idleTimeoutMs?: number };
}

/** A server that answers by a script; the last list is given again, and after the last watch all hang. */
class Server implements Pick<Client, 'request' | 'watch'> {
  readonly calls: Call[] = [];
  /** The present version of the collection. */
  present: number | Error = 1_000_000;
  readonly #hanging = Promise.withResolvers<undefined>();
  constructor(
    private readonly lists: Answer[],
    private readonly watches: Script[] = [],
  ) {}

  async request<T>(_method: Method, path: string, options: RequestOptions = {}): Promise<T> {
    assert.equal(path, PATH);
    const query = options.query ?? {};
    // Before a watch is opened again, its version is compared with the present one.
    if (query['limit'] === '1') {
      this.calls.push({ what: 'version', query, options });
      const { present } = this;
      if (present instanceof Error) throw present;
      return list(present, []) as T;
    }
    this.calls.push({ what: 'list', query, options });
    const answer = this.lists.length > 1 ? this.lists.shift() : this.lists[0];
    if (answer instanceof Error) throw answer;
    return answer as T;
  }

  async *watch<O extends KubeObject>(
    _path: string,
    query: Query,
    options: { readonly signal: AbortSignal; readonly idleTimeoutMs: number },
  ): AsyncGenerator<WatchEvent<O>> {
    this.calls.push({ what: 'watch', query, options });
    for (const step of this.watches.shift() ?? (['hang'] as const)) {
      if (step instanceof Error) throw step;
      if (step === 'hang') {
        this.#hanging.resolve(undefined);
        await new Promise((_, reject) => {
          options.signal.addEventListener('abort', () => reject(new Error('aborted')));
        });
      } else if (typeof step === 'function') step();
      else yield step as WatchEvent<O>;
    }
  }

  /** From which versions it was watched. */
  get from(): (string | undefined)[] {
    return this.calls.flatMap(({ what, query }) =>
      what === 'watch' ? [query['resourceVersion']] : [],
    );
  }

  count(what: Call['what']): number {
    return this.calls.filter((call) => call.what === what).length;
  }

  /** Settles with the first watch that hangs. */
  get hangs(): Promise<undefined> {
    return this.#hanging.promise;
  }
}

/** A reflector, and what comes of it. */
function reflect(server: Server, props: Partial<ReflectorProps>) {
  const seen: string[] = [];
  const restarts: string[] = [];
  const stop = new AbortController();
  const reflector = new Reflector({
    client: server,
    path: PATH,
    sink: {
      replace: (objects, version) => {
        const what = objects.map(({ apiVersion, kind, metadata }) =>
          [apiVersion, kind, metadata.name].join('/'),
        );
        seen.push(`list ${version}: ${what.join(' ')}`.trim());
        return undefined;
      },
      upsert: ({ metadata }) => void seen.push(`+${metadata.name}`),
      remove: ({ metadata }) => void seen.push(`-${metadata.name}`),
    },
    signal: stop.signal,
    now: () => 0,
    random: () => MIDDLE,
    onRestart: (reason) => void restarts.push(reason),
    ...props,
  });
  return { seen, restarts, reflector, stop };
}

/** Runs a reflector until the server hangs or it has waited so often, and returns what has come of it. */
async function run(server: Server, props: Partial<ReflectorProps> = {}, times = 20) {
  const waits: number[] = [];
  const enough = Promise.withResolvers<undefined>();
  const { reflector, stop, ...events } = reflect(server, {
    clock: {
      sleep: async (ms) => {
        waits.push(Math.round(ms));
        if (waits.length === times) enough.resolve(undefined);
        await new Promise(setImmediate);
      },
    },
    ...props,
  });
  const done = reflector.run();
  await Promise.race([server.hangs, enough.promise]);
  const state = { synced: reflector.synced, idleMs: reflector.idleMs };
  stop.abort();
  await done;
  return { ...events, waits, state };
}

describe('a reflector', { concurrency: true }, () => {
  test('lists in pages, then watches from the version of the list', async () => {
    const server = new Server(
      [list(10, ['a', 'b'], 'next'), list(10, ['c'])],
      [[event('ADDED', 'd', 11), 'hang']],
    );
    const { seen, restarts } = await run(server, { labelSelector: 'x=y' });
    const named = (name: string): string => `apps/v1/Deployment/${name}`;
    assert.deepEqual(seen, [`list 10: ${['a', 'b', 'c'].map(named).join(' ')}`, '+d']);
    assert.deepEqual(restarts, []);
    const [first, second, watch] = server.calls;
    assert.equal(first?.query['limit'], '500');
    assert.equal(second?.query['continue'], 'next');
    assert.equal(watch?.query['allowWatchBookmarks'], 'true');
    assert.deepEqual(
      new Set(server.calls.map(({ query }) => query['labelSelector'])),
      new Set(['x=y']),
    );
  });

  test('requests metadata only where that is enough, and accepts a list without items', async () => {
    const server = new Server([{ ...list(10, []), items: null }]);
    const { seen } = await run(server, { metadataOnly: true });
    assert.deepEqual(seen, ['list 10:']);
    const [listed, watched] = server.calls;
    assert.match(listed?.options.accept ?? '', /as=PartialObjectMetadataList;/);
    assert.match(watched?.options.accept ?? '', /as=PartialObjectMetadata;/);
  });

  test('takes in what is added, changed and removed, and no bookmark', async () => {
    const server = new Server(
      [list(10, [])],
      [
        [
          event('ADDED', 'a', 11),
          event('MODIFIED', 'a', 12),
          event('BOOKMARK', '', 13),
          event('DELETED', 'a', 14),
          'hang',
        ],
      ],
    );
    assert.deepEqual((await run(server)).seen, ['list 10:', '+a', '+a', '-a']);
  });

  test('continues from the last version, bookmarks included, when the server ends the watch', async () => {
    const server = new Server(
      [list(10, [])],
      [[event('ADDED', 'a', 11), event('BOOKMARK', '', 15)], ['hang']],
    );
    const { restarts } = await run(server);
    assert.deepEqual(server.from, ['10', '15']);
    assert.equal(server.count('list'), 1);
    assert.deepEqual(restarts, []);
  });

  test('continues from the last event after a broken connection: an old event would restore a deleted object', async () => {
    const server = new Server(
      [list(10, [])],
      [[event('ADDED', 'a', 11), event('DELETED', 'a', 12), broken], ['hang']],
    );
    const { restarts } = await run(server);
    assert.deepEqual(server.from, ['10', '12']);
    assert.deepEqual(restarts, ['Error']);
  });

  for (const [when, script] of [
    ['at the begin of a watch', [gone]],
    ['in the middle of a watch', [event('ADDED', 'a', 11), gone]],
  ] as const) {
    test(`lists again when its version has expired ${when}`, async () => {
      const server = new Server([list(10, ['a']), list(20, [])], [script, ['hang']]);
      const { seen, restarts } = await run(server);
      assert.equal(seen.at(-1), 'list 20:');
      assert.deepEqual(server.from, ['10', '20']);
      assert.deepEqual(restarts, ['Expired']);
    });
  }

  test('compacts the objects of a page before it requests the next one', async () => {
    const seen: string[] = [];
    const server = new Server([list(9, ['a', 'b'], 'more'), list(9, ['c'])]);
    const request = server.request.bind(server);
    server.request = (...args) => {
      seen.push('page');
      return request(...args);
    };
    await run(server, {
      sink: {
        compact: (whole) => {
          seen.push(whole.metadata.name);
          return object(`${whole.metadata.name}-compact`, 1);
        },
        replace: (objects) => void seen.push(objects.map(({ metadata }) => metadata.name).join()),
        upsert: () => undefined,
        remove: () => undefined,
      },
    });
    assert.deepEqual(seen, ['page', 'a', 'b', 'page', 'c', 'a-compact,b-compact,c-compact']);
  });

  test('lists from the begin when a page has expired', async () => {
    const server = new Server([list(10, ['a'], 'next'), gone, list(20, ['b'])]);
    const { seen } = await run(server);
    assert.deepEqual(seen, ['list 20: apps/v1/Deployment/b']);
    assert.deepEqual(
      server.calls.filter(({ what }) => what === 'list').map(({ query }) => query['continue']),
      [undefined, 'next', undefined],
    );
  });
});

describe('a reflector in an outage', { concurrency: true }, () => {
  test('tries again, less and less often, and at least every 30 seconds', async () => {
    const { waits, state } = await run(new Server([refused]), {}, 8);
    assert.deepEqual(waits, [800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000, 30_000]);
    assert.equal(state.synced, false);
    const server = new Server([refused, refused, refused, list(10, [])]);
    const after = await run(server);
    assert.deepEqual(after.waits, [800, 1_600, 3_200], 'and does not wait once it is answered');
    assert.deepEqual([server.count('list'), after.state.synced], [4, true]);
  });

  test('waits between half and one and a half of that, to spread the load', async () => {
    for (const [random, expected] of [
      [0, 400],
      [0.999, 1_199],
    ] as const) {
      const server = new Server([refused, list(10, [])]);
      assert.deepEqual((await run(server, { random: () => random })).waits, [expected]);
    }
  });

  test('begins with the shortest wait again after a watch that was healthy', async () => {
    let time = 0;
    const pass = (): void => void (time += 130_000);
    const failing: Script[] = Array.from({ length: 5 }, () => [broken]);
    const server = new Server([list(10, [])], [...failing, [pass, broken], ['hang']]);
    const { waits } = await run(server, { now: () => time });
    assert.deepEqual(waits, [800, 1_600, 3_200, 6_400, 12_800, 800]);
  });

  test('waits no longer for watches that a proxy cuts each minute', async () => {
    let time = 0;
    const pass = (): void => void (time += 60_000);
    const cut: Script[] = Array.from({ length: 5 }, () => [pass, broken]);
    const { waits } = await run(new Server([list(10, [])], [...cut, ['hang']]), {
      now: () => time,
    });
    assert.deepEqual(waits, [800, 800, 800, 800, 800]);
  });

  test('waits no longer than 30 seconds, whatever the jitter', async () => {
    const { waits } = await run(new Server([refused]), { random: () => 0.999 }, 8);
    assert.ok(Math.max(...waits) <= 30_000, waits.join());
  });

  test('without the permission, retries after the given time', async () => {
    const forbidden = new ApiError(403, 'Forbidden', {}, 'GET: 403');
    const server = new Server([forbidden, forbidden, list(10, ['a'])]);
    const { restarts, seen, waits } = await run(server, { forbiddenMs: 4_000 });
    assert.deepEqual(restarts, ['Forbidden', 'Forbidden']);
    assert.deepEqual(waits, [4_000, 4_000]);
    assert.deepEqual(
      seen,
      ['list 10: apps/v1/Deployment/a'],
      'a right that is granted later is used',
    );
    const other = await run(new Server([forbidden, list(10, [])]));
    assert.deepEqual(other.restarts, ['Error'], 'without this setting, it is an ordinary error');
  });

  test('does not hammer a server that ends each watch at once', async () => {
    const server = new Server([list(10, [])], Array.from<Script>({ length: 4 }).fill([]));
    const { waits } = await run(server);
    assert.deepEqual(waits, [800, 1_600, 3_200, 6_400]);
    assert.equal(server.count('watch'), 5);
  });

  test('reports for how long the server has not answered', async () => {
    let time = 1_000;
    const events: Script = [
      () => void (time = 5_000),
      event('BOOKMARK', '', 11),
      () => void (time = 7_000),
      'hang',
    ];
    const { state } = await run(new Server([list(10, [])], [events]), { now: () => time });
    assert.equal(state.idleMs, 2_000);
  });

  test('allows a watch without events for longer than the interval of bookmarks', async () => {
    // The server ends it before, and not all at once.
    for (const [random, seconds] of [
      [0, '290'],
      [0.999, '580'],
    ] as const) {
      const server = new Server([list(10, [])]);
      await run(server, { random: () => random });
      const watch = server.calls.find(({ what }) => what === 'watch');
      assert.ok((watch?.options.idleTimeoutMs ?? 0) > 60_000);
      assert.equal(watch?.query['timeoutSeconds'], seconds);
    }
  });
});

describe('the end of a reflector', { concurrency: true }, () => {
  test('happens at once with the signal, also before the first list', async () => {
    // It waits 24 seconds, really.
    const { reflector, restarts, stop } = reflect(new Server([refused]), { random: () => 30 });
    const started = performance.now();
    const done = reflector.run();
    await sleep(20);
    assert.deepEqual(restarts, ['Error']);
    stop.abort();
    await done;
    await reflector.whenSynced;
    assert.ok(performance.now() - started < 10_000);
    assert.equal(reflector.synced, false);
  });

  test('is not reported as a restart', async () => {
    const { restarts } = await run(new Server([list(10, [])]));
    assert.deepEqual(restarts, []);
  });
});

describe('a reflector after etcd was restored from a backup', { concurrency: true }, () => {
  /** A reflector whose clock goes on with each wait; sinks record whether a list was forced. */
  const restored = async (server: Server) => {
    const lists: string[] = [];
    let time = 0;
    const { waits, restarts } = await run(server, {
      now: () => time,
      clock: {
        sleep: async (ms) => {
          time += ms;
          await new Promise(setImmediate);
        },
      },
      sink: {
        replace: (_objects, version, how) =>
          void lists.push(`${version} ${how?.restored === true}`),
        upsert: () => undefined,
        remove: () => undefined,
      },
    });
    return { lists, restarts, waits };
  };

  test('replaces everything by a list that stays older than what is known', async () => {
    const server = new Server([list(100, []), list(90, [])], [[broken], ['hang']]);
    server.present = 90;
    const { lists, restarts } = await restored(server);
    assert.deepEqual(lists, ['100 false', '90 true']);
    assert.deepEqual(server.from, ['100', '90']);
    assert.deepEqual(restarts[0], 'Error');
    assert.ok(restarts.slice(1).every((reason) => reason === 'Older'));
  });

  test('notices it by a bookmark, too', async () => {
    const bookmark: Script = [event('BOOKMARK', '', 80), 'hang'];
    const server = new Server([list(100, []), list(80, [])], [bookmark, ['hang']]);
    const { lists } = await restored(server);
    assert.deepEqual(lists, ['100 false', '80 true']);
  });

  test('does not believe an older list that is followed by a newer one', async () => {
    const server = new Server([list(100, []), list(90, []), list(110, [])], [[gone], ['hang']]);
    const { lists } = await restored(server);
    assert.deepEqual(lists, ['100 false', '110 false']);
  });

  test('compares versions only after a failure, and no event sets the version back', async () => {
    const server = new Server(
      [list(100, [])],
      [[event('ADDED', 'a', 120), event('ADDED', 'a', 110)], [broken], ['hang']],
    );
    await restored(server);
    assert.deepEqual(server.from, ['100', '120', '120']);
    assert.equal(server.count('version'), 1);
    assert.equal(server.count('list'), 1);
  });
});

describe('a reflector that does not work', { concurrency: true }, () => {
  test('reports since when, whatever the lists of its version say', async () => {
    let time = 0;
    const forbidden = new ApiError(403, 'Forbidden', {}, 'WATCH: 403');
    const server = new Server([list(10, [])], Array.from<Script>({ length: 9 }).fill([forbidden]));
    const { reflector, stop } = reflect(server, {
      now: () => time,
      clock: {
        sleep: async (ms) => {
          time += ms;
          await new Promise(setImmediate);
        },
      },
    });
    const done = reflector.run();
    await server.hangs;
    assert.ok(reflector.brokenMs > 120_000, String(reflector.brokenMs));
    assert.equal(reflector.lastError, forbidden);
    stop.abort();
    await done;
  });

  test('works again with the first event or bookmark', async () => {
    let time = 0;
    const later: Script = [() => void (time += 400_000), event('BOOKMARK', '', 11), 'hang'];
    const server = new Server([list(10, [])], [[broken], later]);
    const { reflector, stop } = reflect(server, {
      now: () => time,
      clock: { sleep: () => new Promise((resolve) => setImmediate(resolve, undefined)) },
    });
    const done = reflector.run();
    await server.hangs;
    assert.equal(reflector.brokenMs, 0);
    stop.abort();
    await done;
  });
});
