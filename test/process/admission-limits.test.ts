import assert from 'node:assert/strict';
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Agent, request } from 'undici';

import { DEFAULT_API_GROUP } from '../../constructs/kit/definition.js';
import { MAX_BYTES } from '../../runner/admission/body.js';
import type { AdmissionResponse } from '../../runner/admission/review.js';
import { MINIMAL } from '../unit/schema-manifests.js';
import type { Started, Usage } from '../../testbed/webhook-process.js';
import { MALLOC, NODE_FLAGS } from '../../testbed/operator-process.js';

const MIB = 1024 * 1024;
/**
 * What the resident memory may grow by after each of these requests, garbage collected. V8 keeps pages that it
 * may need again: 21 MiB were seen.
 */
const GROWTH = 32 * MIB;
/** The time of the only thread that one review takes at most, with the garbage of it. */
const CPU_MS = 1_500;

let child: ChildProcess;
let started: Started;
let agent: Agent;
before(async () => {
  const module = fileURLToPath(new URL('../../testbed/webhook-process.js', import.meta.url));
  // As little heap as a container of 512 MiB has left for it, and the flags of the image.
  child = fork(module, {
    execArgv: ['--expose-gc', '--max-old-space-size=96', ...NODE_FLAGS],
    env: { ...process.env, ...MALLOC },
  });
  [started] = (await once(child, 'message')) as [Started];
  agent = new Agent({ connect: { ca: started.ca, timeout: 60_000 }, connections: 64 });
  // What is compiled and allocated once is there before anything is measured.
  for (let i = 0; i < 20; i++) await posted('/validate', small());
  for (let i = 0; i < 3; i++) {
    for (const path of PATHS) await posted(path, withAliases(60_000));
  }
});
after(async () => {
  await agent.close();
  child.kill();
});

async function usage(): Promise<Usage> {
  const answer = once(child, 'message') as Promise<[Usage]>;
  child.send('usage');
  return (await answer)[0];
}

const PATHS = ['/validate', '/mutate'] as const;

interface Posted {
  readonly status: number;
  readonly text: string;
}

async function posted(path: string, body: string, dispatcher = agent): Promise<Posted> {
  const answer = await request(`https://127.0.0.1:${started.port}${path}`, {
    dispatcher,
    method: 'POST',
    body,
  });
  return { status: answer.statusCode, text: await answer.body.text() };
}

/**
 * Opens connections of the agent. On a busy machine a handshake may exceed the server's time for one; as an API
 * server does, the client tries again.
 */
async function connected(count: number): Promise<void> {
  for (let tries = 10; tries > 0; tries--) {
    const all = Array.from({ length: count }, () => posted('/validate', small()));
    if ((await Promise.allSettled(all)).every(({ status }) => status === 'fulfilled')) return;
  }
  throw new Error(`no ${count} connections`);
}

/** As `posted`. A client that is still sending may see its connection closed in place of the 413. */
async function answered(path: string, body: string): Promise<Posted> {
  try {
    return await posted(path, body);
  } catch (error) {
    if (body.length <= MAX_BYTES) throw error;
    return { status: 413, text: '' };
  }
}

/** As the 413, the 408 of a server whose time for a body is over may be lost to a client that still sends. */
async function statusOf(answer: Promise<Posted>): Promise<number> {
  try {
    return (await answer).status;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ECONNRESET') throw error;
    return 408;
  }
}

function responseIn({ status, text }: Posted): AdmissionResponse {
  assert.equal(status, 200, text);
  return (JSON.parse(text) as { response: AdmissionResponse }).response;
}

interface Refusal {
  readonly message: string;
  readonly details: { readonly causes: readonly unknown[] };
}

function refusalIn(answer: Posted): Refusal {
  const { uid, allowed, status } = responseIn(answer);
  assert.deepEqual({ uid, allowed }, { uid: 'u1', allowed: false });
  return status as Refusal;
}

/** A review with the text of a spec; the API server writes the fields in this order. */
function review(kind: string, spec: string, old?: string): string {
  const object = (text: string): string =>
    `{"apiVersion":"${DEFAULT_API_GROUP}/v1alpha1","kind":"${kind}","metadata":{"name":"x","namespace":"shop"},"spec":${text}}`;
  return (
    `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u1",` +
    `"kind":{"group":"${DEFAULT_API_GROUP}","version":"v1alpha1","kind":"${kind}"},` +
    `"operation":"${old === undefined ? 'CREATE' : 'UPDATE'}","namespace":"shop","name":"x",` +
    `"object":${object(spec)},"oldObject":${old === undefined ? 'null' : object(old)}}}`
  );
}

const spec = (more: object = {}): string => JSON.stringify({ ...MINIMAL['AppSite'], ...more });
const small = (): string => review('AppSite', spec());
const withAliases = (count: number): string =>
  review('AppSite', spec({ aliases: Array<string>(count).fill('A') }));
const withAffinity = (text: string): string =>
  review('AppSite', spec({ podTemplate: { affinity: 0 } }).replace(':0', `:${text}`));
const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);

/** The largest templates that a review may have: each container is checked. */
function manyContainers(): string {
  const env = Array.from({ length: 64 }, (_, i) => ({ name: `V${i}`, value: 'x' }));
  const containers = Array.from({ length: 8 }, (_, i) => ({ name: `c${i}`, image: 'x:1', env }));
  const of = (components: readonly string[]) =>
    review(
      'AppBench',
      JSON.stringify({
        ...MINIMAL['AppBench'],
        componentPodTemplates: Object.fromEntries(
          components.map((name) => [name, { spec: { containers, initContainers: containers } }]),
        ),
      }),
    );
  const components = ['gunicorn', 'nginx', 'socketio', 'scheduler', 'workerDefault', 'workerShort'];
  const all = components.map((_, i) => of(components.slice(0, i + 1)));
  return all.filter(({ length }) => length <= MAX_BYTES).at(-1) ?? '';
}

describe('an object of any depth and any size', () => {
  const megabytes = 3 * MIB;
  const cases: readonly (readonly [what: string, body: string, status: number])[] = [
    ['9,000 levels', withAffinity(nested(9_000)), 413],
    ['100,000 levels', withAffinity(nested(100_000)), 413],
    ['3 MB of levels', withAffinity(nested(megabytes / 2)), 413],
    ['3 MB of lists', withAffinity(`[${'[],'.repeat(megabytes / 3)}[]]`), 413],
    ['3 MB in a text', review('AppSite', spec({ siteName: 'A'.repeat(megabytes) })), 413],
    ['200 KB in a text', review('AppSite', spec({ siteName: 'A'.repeat(200_000) })), 200],
    ['60,000 aliases', withAliases(60_000), 200],
    ['80 levels', withAffinity(nested(80)), 200],
    ['brackets in a text', review('AppSite', spec({ siteName: '['.repeat(100_000) })), 200],
    ['many containers', manyContainers(), 200],
  ];
  for (const [what, body, status] of cases) {
    for (const path of PATHS) {
      test(`takes little time and memory of ${path}: ${what}`, async () => {
        const first = await usage();
        const answer = await answered(path, body);
        const last = await usage();
        const grown = last.rss - first.rss;
        const took = last.cpuMs - first.cpuMs;
        assert.equal(answer.status, status, answer.text.slice(0, 200));
        assert.ok(answer.text.length < 2 * MAX_BYTES, `${answer.text.length} bytes of answer`);
        assert.ok(grown < GROWTH, `${Math.round(grown / MIB)} MiB`);
        assert.ok(took < CPU_MS, `${Math.round(took)} ms of CPU`);
      });
    }
  }
  test('keeps no other out in numbers', async (t) => {
    const other = new Agent({ connect: { ca: started.ca, timeout: 60_000 } });
    t.after(() => other.close());
    await posted('/validate', small(), other);
    const bodies = Array.from({ length: 4 }, () => cases.map(([, body]) => body)).flat();
    await connected(bodies.length);
    const all = bodies.map((body) => statusOf(answered('/validate', body)));
    assert.equal(responseIn(await posted('/validate', small(), other)).allowed, true);
    // What does not arrive within its time is answered too.
    const statuses = await Promise.all(all);
    assert.ok(
      statuses.every((status) => [200, 408, 413].includes(status)),
      statuses.join(' '),
    );
    assert.equal(responseIn(await posted('/validate', small(), other)).allowed, true);
  });
});

test('a refusal shows the first ten problems, and how many more there are', async () => {
  const aliases = Array.from({ length: 40 }, (_, i) => `Not_A_Host_${i}`);
  const { message, details } = refusalIn(
    await posted('/validate', review('AppSite', spec({ aliases }))),
  );
  assert.equal(details.causes.length, 10);
  assert.match(message, /spec.aliases\[9\].*; and 30 more problems$/);
});

describe('a body that does not arrive', () => {
  const openTls = async (): Promise<TLSSocket> => {
    const socket = connectTls({ port: started.port, host: '127.0.0.1', ca: started.ca });
    await once(socket, 'secureConnect');
    return socket;
  };
  test('keeps no other out, and ends', async () => {
    const sockets = await Promise.all(
      Array.from({ length: 20 }, async () => {
        const socket = await openTls();
        socket.on('error', () => undefined).resume();
        socket.write('POST /validate HTTP/1.1\r\nHost: x\r\nContent-Length: 200000\r\n\r\n{');
        return socket;
      }),
    );
    assert.equal(responseIn(await posted('/validate', small())).allowed, true);
    for (const socket of sockets) if (!socket.closed) await once(socket, 'close');
  });
  test('nor do headers', async () => {
    const socket = await openTls();
    socket.on('error', () => undefined).resume();
    socket.write('POST /validate HTTP/1.1\r\nX-A: b\r\n');
    await once(socket, 'close');
  });
});

test('100 connections at once of an API server are all answered', async () => {
  const fresh = new Agent({ connect: { ca: started.ca } });
  const answers = await Promise.all(
    Array.from({ length: 100 }, () => posted('/validate', small(), fresh)),
  );
  for (const answer of answers) assert.equal(responseIn(answer).allowed, true);
  await fresh.close();
});

describe('300 idle connections', () => {
  const ports: readonly (readonly [string, () => number, () => Promise<number>])[] = [
    [
      'to the health port fail no probe',
      () => started.health,
      async () => (await fetch(`http://127.0.0.1:${started.health}/healthz`)).status,
    ],
    [
      'to the webhooks fail no review',
      () => started.port,
      async () => {
        // Not by a connection that is open already.
        const fresh = new Agent({ connect: { ca: started.ca } });
        const url = `https://127.0.0.1:${started.port}/validate`;
        const answer = await request(url, { dispatcher: fresh, method: 'POST', body: small() });
        await answer.body.dump();
        await fresh.close();
        return answer.statusCode;
      },
    ],
  ];
  for (const [what, port, ask] of ports) {
    test(what, async () => {
      const idle = await Promise.all(
        Array.from({ length: 300 }, async (_, i) => {
          // Some say nothing, and some begin a request.
          const socket = connect(port(), '127.0.0.1', () => i % 2 && socket.write('GET '));
          socket.on('error', () => undefined).resume();
          await once(socket, 'connect');
          return socket;
        }),
      );
      for (let i = 0; i < 21; i++) assert.equal(await ask(), 200);
      for (const socket of idle) socket.destroy();
    });
  }
});
