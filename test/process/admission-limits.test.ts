import assert from 'node:assert/strict';
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Agent, request } from 'undici';

import { DEFAULT_API_GROUP } from '../../constructs/kit/definition.js';
import type { AdmissionResponse } from '../../runner/admission/review.js';
import { MINIMAL } from '../unit/schema-manifests.js';
import type { Started } from '../../testbed/webhook-process.js';
import { MALLOC, NODE_FLAGS } from '../../testbed/operator-process.js';

const MIB = 1024 * 1024;
/** What the process may grow by after each of these requests, garbage collected. */
const GROWTH = 20 * MIB;

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
  agent = new Agent({ connect: { ca: started.ca }, connections: 64 });
  // What is compiled and allocated once is there before anything is measured.
  for (let i = 0; i < 20; i++) await posted('/validate', small());
  for (let i = 0; i < 3; i++) await posted('/mutate', withAliases(20_000));
});
after(async () => {
  await agent.close();
  child.kill();
});

async function memory(): Promise<number> {
  const answer = once(child, 'message') as Promise<[number]>;
  child.send('memory');
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

/** An object of so many different keys, of `KEY_BYTES` each. */
const keys = (count: number, value = '1'): string =>
  `{${Array.from({ length: count }, (_, i) => `"k${String(i).padStart(6, '0')}":${value}`).join(',')}}`;
const KEY_BYTES = 12;
/** Objects of 2,000 keys, one in the other. */
const nestedKeys = (levels: number): string =>
  levels === 0 ? '{}' : `{"k":${nestedKeys(levels - 1)},${keys(2_000).slice(1)}`;
const withLabels = (text: string): string =>
  review('AppSite', spec({ podTemplate: { labels: 0 } }).replace(':0', `:${text}`));

describe('a request that no schema would admit', () => {
  const megabytes = 3 * MIB - 2_000;
  const cases: readonly (readonly [what: string, body: string, says: RegExp])[] = [
    [
      '600,000 aliases',
      withAliases(600_000),
      /^object: Too many: must have at most 100000 values$/,
    ],
    ['50,000 aliases', withAliases(50_000), /^spec.aliases: Too many: 50000: must have at most 50/],
    [
      '28 KB of nesting',
      withAffinity('{"a":'.repeat(4_600) + '{}' + '}'.repeat(4_600)),
      /Too deep/,
    ],
    ['3 MB of nesting', withAffinity('['.repeat(megabytes / 2) + ']'.repeat(megabytes / 2)), /Too/],
    ['3 MB of lists', withAffinity(`[${'[],'.repeat(megabytes / 3)}[]]`), /^object: Too many/],
    ['3 MB of objects', withAffinity(`[${'{},'.repeat(megabytes / 3)}{}]`), /^object: Too many/],
    [
      '3 MB in a text',
      review('AppSite', spec({ siteName: 'A'.repeat(megabytes) })),
      /^object: Too long/,
    ],
    [
      '1 MB in a text',
      review('AppSite', spec({ siteName: 'A'.repeat(MIB) })),
      /^spec.siteName: Too long/,
    ],
    [
      '3 MB of keys',
      withAffinity(keys(megabytes / KEY_BYTES)),
      /^object: Too many: must have at most 100000 values$/,
    ],
    ['49,000 keys of a map', withLabels(keys(49_000, '"x"')), /labels: Too many: 49000/],
    ['49,000 keys of any value', withAffinity(keys(49_000)), /affinity: Too/],
    [
      '49,000 unknown fields',
      review('AppSite', `${spec().slice(0, -1)},${keys(49_000).slice(1)}`),
      /^spec: Too many: 4900\d: must have at most 1000 fields$/,
    ],
    ['keys that nest', withAffinity(nestedKeys(20)), /affinity: Too/],
    [
      '1 MB of fields',
      withAffinity(JSON.stringify({ ['a'.repeat(MIB)]: 1 })),
      /affinity: Too long/,
    ],
  ];
  for (const [what, body, says] of cases) {
    for (const path of PATHS) {
      test(`is refused by ${path}: ${what}`, async () => {
        const first = await memory();
        const answer = await posted(path, body);
        const grown = (await memory()) - first;
        assert.match(refusalIn(answer).message, says);
        assert.ok(answer.text.length < 64 * 1024, `${answer.text.length} bytes of answer`);
        assert.ok(grown < GROWTH, `${Math.round(grown / MIB)} MiB`);
      });
    }
  }

  test('is no burden in numbers: many at once, and others are answered meanwhile', async (t) => {
    const other = new Agent({ connect: { ca: started.ca } });
    t.after(() => other.close());
    // It keeps its connection, as the API server does: the others' handshakes are not before it.
    await posted('/validate', small(), other);
    const bodies = Array.from({ length: 4 }, () => cases.map(([, body]) => body)).flat();
    // Their connections too: a handshake that takes more than five seconds is ended.
    for (let open = 8; open < bodies.length + 8; open += 8) {
      await Promise.all(Array.from({ length: open }, () => posted('/mutate', small())));
    }
    const first = await memory();
    let done = 0;
    const all = bodies.map(async (body) => {
      const { status } = await posted('/mutate', body);
      done += 1;
      return status;
    });
    const { allowed } = responseIn(await posted('/validate', small(), other));
    const before = done;
    assert.equal(allowed, true);
    const statuses = await Promise.all(all);
    assert.ok(before < all.length, 'it waited for all of them');
    assert.ok(statuses.every((status) => [200, 408, 503].includes(status)));
    const grown = (await memory()) - first;
    assert.ok(grown < 2 * GROWTH, `${Math.round(grown / MIB)} MiB`);
  });
});

describe('an object that was stored before there were bounds', () => {
  const deep = '['.repeat(300) + ']'.repeat(300);
  const affinity = `{"a":${deep}}`;
  const of = (text: string): string =>
    spec({ podTemplate: { affinity: 0 } }).replace(':0', `:${text}`);

  test('can be made smaller', async () => {
    const answer = responseIn(await posted('/validate', review('AppSite', spec(), of(affinity))));
    assert.deepEqual(answer, { uid: 'u1', allowed: true });
  });
  test('is no way around the review of what replaces it', async () => {
    const secretRef = { name: 'of-another' };
    const containers = [{ name: 'gunicorn', envFrom: [{ secretRef }] }];
    const now = spec({ componentPodTemplates: { gunicorn: { spec: { containers } } } });
    for (const old of [of(affinity), of(keys(110_000))]) {
      const { message } = refusalIn(await posted('/validate', review('AppSite', now, old)));
      assert.match(message, /"of-another": you may not get this Secret/);
    }
  });
  test('cannot be in a review twice', async () => {
    const twice = review('AppSite', spec(), of(affinity)).replace('"object":', '"oldObject":{},$&');
    assert.equal((await posted('/validate', twice)).status, 400);
  });
  test('can be changed elsewhere, and its patch stays small', async () => {
    const aliases = Array<string>(5_000).fill('A');
    const [old, now] = [spec({ aliases }), spec({ aliases, maintenance: true })];
    const answer = await posted('/mutate', review('AppSite', now, old));
    assert.equal(responseIn(answer).allowed, true);
    assert.ok(answer.text.length < 64 * 1024);
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
  const head = (length: number): string =>
    `POST /validate HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n\r\n`;

  /** Twenty reviews of a namespace, of which more than a short body arrives, and no more. */
  const slowOf = (namespace: string): Promise<readonly TLSSocket[]> =>
    Promise.all(
      Array.from({ length: 20 }, async () => {
        const socket = await openTls();
        socket.on('error', () => undefined).resume();
        const begin = `{"request":{"namespace":"${namespace}","x":"`;
        socket.write(head(MIB) + begin + ' '.repeat(100_000));
        return socket;
      }),
    );

  test('keeps no other out, however many there are and however long', async () => {
    const others = await slowOf('other');
    assert.equal(responseIn(await posted('/validate', small())).allowed, true);
    refusalIn(await posted('/validate', withAliases(50_000)));
    // A long one waits for the turn of its namespace, and is answered when that does not come.
    const own = await slowOf('shop');
    assert.deepEqual(await posted('/validate', withAliases(50_000)), {
      status: 503,
      text: 'too many long reviews at once; try again\n',
    });
    // Each ends: at the latest when its time is over.
    for (const socket of [...others, ...own]) if (!socket.closed) await once(socket, 'close');
    refusalIn(await posted('/validate', withAliases(50_000)));
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
