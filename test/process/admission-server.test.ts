import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { PassThrough } from 'node:stream';
import { after, before, describe, test } from 'node:test';
import { Agent, request } from 'undici';

import { DEFAULT_API_GROUP } from '../../constructs/kit/definition.js';
import { admit } from '../../constructs/kit/schema/admit.js';
import { StaticReader } from '../../constructs/kit/static-reader.js';
import { DEFINITIONS, KINDS } from '../../constructs/registry.js';
import { createLogger } from '../../runner/telemetry/log.js';
import { Admission } from '../../runner/admission/admission.js';
import type { AdmissionRequest, AdmissionResponse } from '../../runner/admission/review.js';
import { type Answered, serveWebhooks, type WebhookServer } from '../../runner/admission/server.js';
import { newKeys } from '../../runner/admission/webhook-objects.js';
import { definitionOf } from '../unit/schema-definitions.js';
import { aBench, MINIMAL } from '../unit/schema-manifests.js';
import { randomFrom } from '../../testbed/random.js';

const SECRET = 'hunter2';
let logged = '';
const output = new PassThrough().on('data', (chunk: Buffer) => (logged += chunk.toString()));
const log = createLogger({ logLevel: 'debug', logEncoder: 'json' }, output);
const answered: Answered[] = [];
let server: WebhookServer;
let agent: Agent;
before(async () => {
  const keys = newKeys(['127.0.0.1'], Date.now());
  const admission = new Admission({
    kinds: KINDS,
    group: DEFAULT_API_GROUP,
    namespaces: ['shop'],
    reader: () => undefined,
    log,
  });
  server = await serveWebhooks({
    address: { host: '127.0.0.1', port: 0 },
    webhooks: {
      '/validate': (requestOf) => admission.validate(requestOf),
      '/mutate': (requestOf) => admission.mutate(requestOf),
      '/broken': () => {
        throw new Error(SECRET);
      },
    },
    onAnswer: (one) => answered.push(one),
    log,
  });
  await server.use(keys);
  agent = new Agent({ connect: { ca: keys.bundle } });
});
after(async () => {
  await agent.close();
  await server.close(0);
});

async function post(
  path: string,
  body: string | Buffer,
  method: 'POST' | 'GET' = 'POST',
): Promise<{ readonly status: number; readonly text: string }> {
  const answer = await request(`https://127.0.0.1:${server.port}${path}`, {
    dispatcher: agent,
    method,
    ...(method === 'POST' ? { body } : {}),
  });
  return { status: answer.statusCode, text: await answer.body.text() };
}

const review = (requestOf: object, version = 'admission.k8s.io/v1'): string =>
  JSON.stringify({ apiVersion: version, kind: 'AdmissionReview', request: requestOf });

interface RequestProps {
  readonly kind: string;
  readonly spec: unknown;
  readonly old?: unknown;
  readonly operation?: string;
  readonly namespace?: string;
  readonly metadata?: object;
}

function requestOf({
  kind,
  spec,
  old,
  namespace = 'shop',
  metadata = {},
  ...rest
}: RequestProps): object {
  const object = (one: unknown): object => ({
    apiVersion: `${DEFAULT_API_GROUP}/v1alpha1`,
    kind,
    metadata: { name: 'x', namespace, ...metadata },
    spec: one,
  });
  return {
    uid: 'u1',
    kind: { group: DEFAULT_API_GROUP, version: 'v1alpha1', kind },
    operation: rest.operation ?? (old === undefined ? 'CREATE' : 'UPDATE'),
    namespace,
    name: 'x',
    object: object(spec),
    oldObject: old === undefined ? null : object(old),
  };
}

async function evaluated(path: string, one: RequestProps): Promise<AdmissionResponse> {
  const { status, text } = await post(path, review(requestOf(one)));
  assert.equal(status, 200, text);
  const answer = JSON.parse(text) as { kind: string; response: AdmissionResponse };
  assert.equal(answer.kind, 'AdmissionReview');
  assert.equal(answer.response.uid, 'u1');
  return answer.response;
}

describe('what is no review', () => {
  const bodies: readonly (readonly [what: string, body: string | Buffer, says: RegExp])[] = [
    ['nothing', '', /not JSON/],
    ['no JSON', '{', /not JSON/],
    ['bytes', Buffer.from([0xff, 0xfe, 0x00]), /not JSON/],
    ['a list', '[]', /not an AdmissionReview/],
    ['null', 'null', /not an AdmissionReview/],
    ['a version of old', review({}, 'admission.k8s.io/v1beta1'), /unsupported version/],
    ['no request', review(null as unknown as object), /no request/],
    ['an empty request', review({}), /incomplete request/],
    [
      'no object',
      review({ ...requestOf({ kind: 'AppSite', spec: {} }), object: null }),
      /incomplete request/,
    ],
    [
      'text as object',
      review({ ...requestOf({ kind: 'AppSite', spec: {} }), object: 'x' }),
      /complete/,
    ],
  ];
  for (const [what, body, message] of bodies) {
    test(`${what} is 400`, async () => {
      const { status, text } = await post('/validate', body);
      assert.equal(status, 400);
      assert.match(text, message);
    });
  }

  test('a body that is too long is not read to its end', async () => {
    const { status } = await post('/validate', Buffer.alloc(5 * 1024 * 1024, 32));
    assert.equal(status, 413);
  });

  test('other paths and methods are not served', async () => {
    assert.equal((await post('/', '{}')).status, 404);
    assert.equal((await post('/constructor', '{}')).status, 404);
    assert.equal((await post('/validate', '', 'GET')).status, 405);
  });

  test('an error has no part of the request in its message', async () => {
    const { status, text } = await post(
      '/broken',
      review(requestOf({ kind: 'AppSite', spec: {} })),
    );
    assert.deepEqual([status, text], [500, 'internal error\n']);
    assert.equal(answered.at(-1)?.allowed, undefined);
  });
});

describe('whatever is in a spec', () => {
  test('is evaluated, and never throws', async () => {
    const random = randomFrom(7);
    const values: readonly unknown[] = [
      ...[null, true, 0, -1, 1e300, '', 'x', 'X'.repeat(300), '\u0000', '🦆', [], {}, [[]]],
      ...[
        { name: {} },
        [{ name: 1 }],
        { constructor: 1 },
        JSON.parse('{"__proto__":{"a":1}}') as unknown,
      ],
    ];
    const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
    let refused = 0;
    for (const { kind, spec: schema } of DEFINITIONS) {
      const fields = Object.keys(schema.properties ?? {});
      const minimal = MINIMAL[kind];
      for (let i = 0; i < 40; i++) {
        const spec = { ...minimal, [pick(fields)]: pick(values), [pick(fields)]: pick(values) };
        const change = pick([{}, { old: minimal }, { old: pick(values) }]);
        const metadata = pick([{}, { name: '' }, { name: '', generateName: 'g-' }]);
        const one = { kind, spec: pick([spec, spec, pick(values)]), metadata, ...change };
        await evaluated('/mutate', one);
        const { allowed } = await evaluated('/validate', one);
        if (!allowed) refused += 1;
      }
    }
    assert.ok(refused > 100, `${refused} refused`);
  });
});

describe('what is none of its business passes', () => {
  const bad = { kind: 'AppSite', spec: { siteName: 1 } };
  const passes = async (one: RequestProps): Promise<void> => {
    assert.deepEqual(await evaluated('/validate', one), { uid: 'u1', allowed: true });
  };

  test('it would be refused otherwise', async () => {
    assert.equal((await evaluated('/validate', bad)).allowed, false);
  });
  test('an object that is being deleted', () =>
    passes({ ...bad, old: {}, metadata: { deletionTimestamp: '2030-01-01T00:00:00Z' } }));
  test('a change of something else than the spec', () => passes({ ...bad, old: bad.spec }));
  test('a namespace that is not watched', () => passes({ ...bad, namespace: 'other' }));
  test('an operation that is none of a resource', () => passes({ ...bad, operation: 'CONNECT' }));
  test('another kind', () => passes({ ...bad, kind: 'Deployment' }));
});

describe('what was wrong before', () => {
  const spec = { ...MINIMAL['AppSite'], siteName: 'Not_A_Host' };

  test('is no reason to refuse a change of something else', async () => {
    const { allowed } = await evaluated('/validate', {
      kind: 'AppSite',
      spec: { ...spec, maintenance: true },
      old: spec,
    });
    assert.equal(allowed, true);
  });

  test('is one to refuse a change of itself', async () => {
    const { allowed } = await evaluated('/validate', {
      kind: 'AppBench',
      spec: { ...MINIMAL['AppBench'], frameworkVersion: '-' },
      old: { ...MINIMAL['AppBench'], frameworkVersion: '--' },
    });
    assert.equal(allowed, false);
  });
});

test('an object that was created a moment ago is awaited, before it is reported as missing', async () => {
  const { object } = admit(definitionOf('AppBench'), aBench({}, 'later'));
  const bench = { ...object, metadata: { ...object.metadata, namespace: 'shop' } };
  const readers = [new StaticReader({ objects: [] }), new StaticReader({ objects: [bench] })];
  const admission = new Admission({
    kinds: KINDS,
    group: DEFAULT_API_GROUP,
    namespaces: [],
    reader: () => readers.shift(),
    log,
  });
  const spec = { ...MINIMAL['AppSite'], benchRef: { name: 'later' } };
  const request = requestOf({ kind: 'AppSite', spec }) as AdmissionRequest;
  assert.deepEqual(await admission.validate(request), { uid: 'u1', allowed: true });
  assert.equal(readers.length, 0);
});

describe('a host name that another site has', () => {
  const stored = (kind: 'AppBench' | 'AppSite', name: string, spec: object) => {
    const { object, problems } = admit(definitionOf(kind), {
      ...aBench({}, name),
      kind,
      spec: { ...MINIMAL[kind], ...spec },
    });
    assert.deepEqual(problems, []);
    const metadata = { name, namespace: 'shop', uid: name };
    return { ...object, metadata: { ...metadata, creationTimestamp: '2030-01-01T00:00:00Z' } };
  };
  const siteName = 'taken.example.com';
  const spec = { ...MINIMAL['AppSite'], benchRef: { name: 'b' }, siteName };
  const bench = stored('AppBench', 'b', {});
  const taken = new StaticReader({ objects: [bench, stored('AppSite', 'first', spec)] });
  const free = new StaticReader({ objects: [bench] });
  const validated = async (
    one: RequestProps,
    ...readers: StaticReader[]
  ): Promise<AdmissionResponse> => {
    const admission = new Admission({
      kinds: KINDS,
      group: DEFAULT_API_GROUP,
      namespaces: [],
      reader: () => (readers.length > 1 ? readers.shift() : readers[0]),
      log,
    });
    return admission.validate(requestOf(one) as AdmissionRequest);
  };

  test('is refused', async () => {
    const { allowed, status } = await validated({ kind: 'AppSite', spec }, taken);
    assert.equal(allowed, false);
    assert.match(JSON.stringify(status), /AppSite first on bench b has this host name already/);
  });

  test('is free once that site is deleted, also while the watch is late', async () => {
    const answer = await validated({ kind: 'AppSite', spec }, taken, free);
    assert.deepEqual(answer, { uid: 'u1', allowed: true });
  });

  test('is no reason to refuse another change of an object that had it before, and that no longer fits the schema', async () => {
    // As stored before the schema had a bound.
    const old = { ...spec, aliases: ['Not_A_Host'] };
    const change = { ...old, maintenance: true };
    const { allowed } = await validated({ kind: 'AppSite', spec: change, old }, taken);
    assert.equal(allowed, true);
  });

  describe('and that this one had before', () => {
    const [p, q, x] = ['p.example.com', 'q.example.com', 'x.example.com'];
    const own = { ...spec, siteName: 'mine.example.com' };
    // It holds all of them, which were created while no webhook answered.
    const conflicting = stored('AppSite', 'conflicting', { ...spec, domain: p, aliases: [q, x] });
    const both = new StaticReader({ objects: [bench, conflicting] });
    const others = stored('AppSite', 'others', { ...spec, siteName: 'other.example.com' });
    const all = new StaticReader({ objects: [bench, conflicting, others] });
    const changed = async (old: object, now: object, reader = both) => {
      const one = { kind: 'AppSite', spec: { ...own, ...now }, old: { ...own, ...old } };
      const { allowed, status, warnings = [] } = await validated(one, reader);
      const { details } = (status ?? {}) as { details?: { causes?: { field: string }[] } };
      const causes = details?.causes;
      const ignored = warnings.filter((text) => text.includes(': has no effect: '));
      const aliases = ignored.map((text) => text.slice(0, text.indexOf(':')));
      return { allowed, fields: causes?.map(({ field }) => field), aliases };
    };

    const PASSES: readonly (readonly [what: string, old: object, now: object])[] = [
      ['moves up in the list', { aliases: ['a.example.com', x] }, { aliases: [x] }],
      ['is left when another is given up', { domain: p, aliases: [q] }, { aliases: [q] }],
    ];
    for (const [what, old, now] of PASSES) {
      test(`is no reason to refuse a change by which it ${what}`, async () => {
        const { allowed, fields } = await changed(old, now);
        assert.deepEqual([allowed, fields], [true, undefined]);
      });
    }

    test('is no reason to refuse a change by which a name is no longer too long', async () => {
      const label = 'x'.repeat(60);
      const suffix = [label, label, label].join('.');
      const siteName = `${label}.mine.example.com`;
      const long = stored('AppBench', 'b', { domainConfig: { suffix } });
      const reader = new StaticReader({ objects: [long, conflicting] });
      const old = { siteName, aliases: [x] };
      const { allowed } = await changed(old, { ...old, domain: 'short.example.com' }, reader);
      assert.equal(allowed, true);
    });

    test('hides no alias that is added, of which a warning says that it has no effect', async () => {
      const now = { aliases: [x, 'other.example.com'] };
      assert.deepEqual(await changed({ aliases: [x] }, now, all), {
        allowed: true,
        fields: undefined,
        aliases: ['spec.aliases[1]'],
      });
    });

    test('is refused as the domain, without which the site cannot run', async () => {
      for (const old of [{}, { aliases: [p] }]) {
        const { allowed, fields } = await changed(old, { domain: p, aliases: [q] });
        assert.deepEqual([allowed, fields], [false, ['spec.domain']]);
      }
    });
  });
});

test('a handshake that does not arrive times out', async () => {
  const idle = connect(server.port, '127.0.0.1');
  const begun = performance.now();
  await once(idle, 'close');
  assert.ok(performance.now() - begun < 30_000, 'the default is two minutes');
});

test('normal forms are brought about once', async () => {
  const aliases = ['b.example.com', 'C.Example.com', 7];
  const spec = { ...MINIMAL['AppSite'], siteName: ' A.Example.COM. ', aliases };
  const { patch, warnings } = await evaluated('/mutate', { kind: 'AppSite', spec });
  assert.deepEqual(JSON.parse(atob(patch ?? '')), [
    { op: 'replace', path: '/spec/siteName', value: 'a.example.com' },
    { op: 'replace', path: '/spec/aliases/1', value: 'c.example.com' },
  ]);
  assert.deepEqual(warnings, [
    'spec.siteName: is stored as "a.example.com"',
    'spec.aliases[1]: is stored as "c.example.com"',
  ]);
  const reconcileAgain = { ...spec, siteName: 'a.example.com', aliases: ['c.example.com'] };
  assert.deepEqual(await evaluated('/mutate', { kind: 'AppSite', spec: reconcileAgain }), {
    uid: 'u1',
    allowed: true,
  });
});

test('the log names fields, and quotes nothing of what is in them', async () => {
  const spec = { ...MINIMAL['SiteUser'], email: SECRET, lastName: SECRET, language: SECRET };
  assert.equal((await evaluated('/validate', { kind: 'SiteUser', spec })).allowed, false);
  assert.match(logged, /"fields":\["spec.email","spec.language"\]/);
  assert.ok(!logged.replaceAll(/"error":"[^"]*"|"stacktrace":"[^"]*"/g, '').includes(SECRET));
});
