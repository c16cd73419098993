import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { ingressesByHost } from '../../constructs/frappe/indexes.js';
import { Stalled, Waiting } from '../../constructs/kit/errors.js';
import { metadataKeysFor } from '../../constructs/kit/metadata-keys.js';
import type { KubeObject } from '../../constructs/kit/object.js';
import { Ingress } from '../../constructs/kit/object-kind.js';
import { siteNames } from '../../constructs/kit/names.js';
import type { AppSite } from '../../constructs/api/site.js';
import { site as siteKind } from '../../constructs/kinds/site/index.js';
import { validate } from '../../runner/admission/validate.js';
import { aReader, aReadyBench, aSite } from '../golden/builders.js';

type Fields = Readonly<Record<string, unknown>>;

const HOST = 'shop.example.com';
const GRANT = 'app-operator.io/allow-host-from';
const OLD = '2025-01-01T00:00:00Z';
const NEW = '2026-06-01T00:00:00Z';
const WITH_INGRESS = { siteName: HOST, ingress: { enabled: true } };

/** The site that is reconciled, from 2026-01-01. */
const mine = (spec: Fields = WITH_INGRESS, metadata: Fields = {}): AppSite =>
  aSite(spec, { uid: 'default/demo-site', ...metadata });
const other = (metadata: Fields = {}, spec: Fields = {}): AppSite =>
  aSite(
    { siteName: HOST, ...spec },
    { name: 'other', namespace: 't2', uid: 't2/other', ...metadata },
  );
const recorded = (site: AppSite, host = HOST): AppSite => ({ ...site, status: { hosts: [host] } });
/** As release 0.2.0 left it: it recorded the first host name only. */
const ofRelease020 = (site: AppSite, status: 'True' | 'False' = 'True'): AppSite => {
  const generation = 3;
  const ready = { type: 'Ready', status, reason: 'x', message: '', lastTransitionTime: OLD };
  return {
    ...site,
    metadata: { ...site.metadata, generation },
    status: {
      siteURL: 'https://first.example.com',
      conditions: [{ ...ready, observedGeneration: generation }],
    },
  };
};
const benchOf = (namespace: string, suffix?: string) =>
  aReadyBench(suffix === undefined ? {} : { domainConfig: { suffix } }, { namespace });

const ingress = (
  {
    site,
    namespace = 't2',
    created = NEW,
    annotations = {},
    uid = `${namespace}/${site}`,
    name = site === undefined ? 'by-hand' : siteNames(site).ingress,
  }: {
    site?: string;
    uid?: string;
    name?: string;
    namespace?: string;
    created?: string;
    annotations?: Readonly<Record<string, string>>;
  } = {},
  host = HOST,
): KubeObject =>
  ({
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata: {
      name,
      namespace,
      creationTimestamp: created,
      annotations,
      ...(site === undefined
        ? {}
        : {
            ownerReferences: [
              {
                apiVersion: 'app-operator.io/v1alpha1',
                kind: 'AppSite',
                name: site,
                uid,
                controller: true,
              },
            ],
          }),
    },
    spec: { rules: [{ host }, {}] },
  }) as KubeObject;

const message = (host = HOST) =>
  `Invalid value: "${host}": another namespace has this host name; choose another one, or ask its owner to annotate its AppSite or Ingress with ${GRANT}=default`;

function resolved(site: AppSite, objects: readonly KubeObject[]): Stalled | undefined {
  const all = [benchOf('default'), ...objects];
  try {
    siteKind.resolve(site, aReader(all));
  } catch (error) {
    if (error instanceof Stalled) return error;
    throw error;
  }
  return undefined;
}

describe('a host name of another namespace', () => {
  interface Case {
    readonly what: string;
    readonly site?: AppSite;
    readonly objects: readonly KubeObject[];
    readonly refused: boolean;
  }
  const older = { creationTimestamp: OLD };
  const younger = { creationTimestamp: NEW };
  const CASES: readonly Case[] = [
    { what: 'is of an older site', objects: [other(older)], refused: true },
    { what: 'is of a younger site', objects: [other(younger)], refused: false },
    {
      what: 'is of a site of the same age, whose namespace is later in the alphabet',
      objects: [other({ name: 'demo-site' })],
      refused: false,
    },
    {
      what: 'is of a site of the same age, whose namespace is earlier in the alphabet',
      objects: [other({ name: 'demo-site', namespace: 'a' })],
      refused: true,
    },
    {
      what: 'is served by a younger site already, as when an alias is added to an old one',
      objects: [other(younger), ingress({ site: 'other' })],
      refused: true,
    },
    {
      what: 'is of an older site that does not serve it, and served here',
      objects: [other(older), ingress({ site: 'demo-site', namespace: 'default' })],
      refused: false,
    },
    {
      what: 'is served here and by an older site, whose Ingress is younger',
      objects: [
        other(older),
        ingress({ site: 'other' }),
        ingress({ site: 'demo-site', namespace: 'default', created: OLD }),
      ],
      refused: false,
    },
    {
      what: 'is served here and by a younger site, whose Ingress is older',
      objects: [
        other(younger),
        ingress({ site: 'other', created: OLD }),
        ingress({ site: 'demo-site', namespace: 'default' }),
      ],
      refused: true,
    },
    {
      what: 'is recorded for a younger site that has no Ingress yet',
      objects: [recorded(other(younger, { ingress: { enabled: true } }))],
      refused: true,
    },
    {
      what: 'is recorded for a younger site that does not want it any more: the operator did not see that yet',
      objects: [recorded(other(younger, { siteName: 'x.example.com' }))],
      refused: true,
    },
    {
      what: 'is recorded for this site, and wanted by an older one',
      site: recorded(mine()),
      objects: [other(older, { ingress: { enabled: true } })],
      refused: false,
    },
    {
      what: 'is recorded for this site and for an older one, as when both came at once',
      site: recorded(mine()),
      objects: [recorded(other(older, { ingress: { enabled: true } }))],
      refused: true,
    },
    {
      what: 'is recorded for this site and for a younger one, as when both came at once',
      site: recorded(mine()),
      objects: [recorded(other(younger, { ingress: { enabled: true } }))],
      refused: false,
    },
    {
      what: 'is recorded for this site, and served by an older one',
      site: recorded(mine()),
      objects: [other(older), ingress({ site: 'other', created: OLD })],
      refused: false,
    },
    {
      what: 'is recorded for this site, which lost its Ingress, and served by an Ingress',
      site: recorded(mine()),
      objects: [ingress({ created: OLD })],
      refused: false,
    },
    {
      what: 'is served here, and recorded for a younger site',
      objects: [
        recorded(other(younger, { ingress: { enabled: true } })),
        ingress({ site: 'demo-site', namespace: 'default', created: OLD }),
      ],
      refused: true,
    },
    {
      what: 'is a further one of a younger site, Ready since release 0.2.0',
      objects: [
        ofRelease020(
          other(younger, {
            siteName: 'first.example.com',
            aliases: [HOST],
            ingress: { enabled: true },
          }),
        ),
      ],
      refused: true,
    },
    {
      what: 'is a further one of a younger site, not Ready since release 0.2.0',
      objects: [
        ofRelease020(
          other(younger, {
            siteName: 'first.example.com',
            aliases: [HOST],
            ingress: { enabled: true },
          }),
          'False',
        ),
      ],
      refused: false,
    },
    {
      what: 'is served by a younger site whose Ingress says that it is of an older one',
      objects: [
        other(older),
        ingress({ site: 'other', uid: 'forged' }),
        ingress({ site: 'demo-site', namespace: 'default', created: OLD }),
      ],
      refused: false,
    },
    {
      what: 'is served by an Ingress that says that it is of an older site, with another name',
      objects: [
        other({ ...older, annotations: { [GRANT]: 'default' } }),
        ingress({ site: 'other', name: 'x' }),
      ],
      refused: true,
    },
    { what: 'is served by an Ingress', objects: [ingress()], refused: true },
    {
      what: 'is served here and by a younger Ingress',
      objects: [ingress(), ingress({ site: 'demo-site', namespace: 'default' })],
      refused: false,
    },
    {
      what: 'is served here and by an older Ingress',
      objects: [ingress({ created: OLD }), ingress({ site: 'demo-site', namespace: 'default' })],
      refused: true,
    },
    {
      what: 'is served by an Ingress of a site that is not seen',
      objects: [ingress({ site: 'unknown' })],
      refused: true,
    },
    {
      what: 'is granted by its site',
      objects: [
        other({ ...older, annotations: { [GRANT]: 'blog, default' } }),
        ingress({ site: 'other' }),
      ],
      refused: false,
    },
    {
      what: 'is granted to another namespace',
      objects: [other({ ...older, annotations: { [GRANT]: 'defaults,blog' } })],
      refused: true,
    },
    {
      what: 'is granted by its Ingress',
      objects: [ingress({ annotations: { [GRANT]: 'default' } })],
      refused: false,
    },
    {
      what: 'is granted by one of two owners',
      objects: [
        other({ ...older, annotations: { [GRANT]: 'default' } }),
        ingress({ namespace: 't3' }),
      ],
      refused: true,
    },
    {
      what: 'has another suffix there',
      objects: [other(older), benchOf('t2', 'intern.example')],
      refused: false,
    },
    {
      what: 'has a domain of its own there',
      objects: [other(older, { domain: 'www.example.org' })],
      refused: false,
    },
    {
      what: 'is only a further domain there',
      objects: [other(older, { siteName: 'x.example.com', aliases: [HOST] })],
      refused: true,
    },
    {
      what: 'is of a wildcard',
      objects: [ingress({ created: OLD }, '*.example.com')],
      refused: false,
    },
    {
      what: 'is of a site without an Ingress',
      site: mine({ siteName: HOST }),
      objects: [other(older), ingress()],
      refused: false,
    },
    {
      what: 'is of the own namespace only',
      objects: [ingress({ namespace: 'default' })],
      refused: false,
    },
  ];
  for (const { what, site = mine(), objects, refused } of CASES) {
    test(`${what}: ${refused ? 'refused' : 'accepted'}`, () => {
      const error = resolved(site, objects);
      assert.equal(error?.message, refused ? `spec.siteName: ${message()}` : undefined);
      if (error) assert.equal(error.reason, 'HostTaken');
      assert.equal(error?.losesNames ?? false, false, 'no child is deleted');
    });
  }

  test('is named by the field that it comes from', () => {
    const site = mine({
      ...{ siteName: 'own.example.com', domain: 'a.example.com', aliases: ['b.example.com', HOST] },
      ingress: { enabled: true },
    });
    const objects = [ingress({}, 'a.example.com'), ingress({ namespace: 't3' })];
    assert.equal(resolved(site, objects)?.message, `spec.domain: ${message('a.example.com')}`);
  });
  test('is left out by name as an alias, also as that of the site’s first name', () => {
    const first = 'own.example.com';
    const site = mine({
      ...{ siteName: first, domain: 'a.example.com', aliases: [first, 'b.example.com', HOST] },
      ingress: { enabled: true },
    });
    const reader = aReader([benchOf('default'), ingress({}, first), ingress({ namespace: 't3' })]);
    const { hosts, ownHosts, ignoredAliases } = siteKind.resolve(site, reader).access;
    assert.deepEqual(hosts, ['a.example.com', 'b.example.com']);
    assert.deepEqual(ownHosts, hosts);
    assert.deepEqual(ignoredAliases, [
      { path: 'spec.aliases[0]', message: `has no effect: ${message(first)}` },
      { path: 'spec.aliases[2]', message: `has no effect: ${message()}` },
    ]);
  });
  test('of a suffix counts by the whole name', () => {
    const bench = benchOf('default', 'example.com');
    const site = mine({ siteName: 'shop', ingress: { enabled: true } });
    const reader = aReader([bench, ingress()]);
    assert.throws(() => siteKind.resolve(site, reader), { message: `spec.siteName: ${message()}` });
    assert.ok(siteKind.resolve(site, aReader([bench, ingress({}, 'shop')])));
  });
  test('of a suffix counts as it is recorded, until the operator records another one', () => {
    const younger = other({ creationTimestamp: NEW }, { siteName: 'shop' });
    const site = mine({ siteName: 'own', domain: HOST, ingress: { enabled: true } });
    const reader = aReader([
      benchOf('default'),
      benchOf('t2', 'example.org'),
      recorded({ ...younger, spec: { ...younger.spec, ingress: { enabled: true } } }),
    ]);
    assert.throws(() => siteKind.resolve(site, reader), { message: `spec.domain: ${message()}` });
  });
});

describe('the operator records', () => {
  const hosts = (site: AppSite, ...objects: readonly KubeObject[]) =>
    siteKind.resolve(site, aReader([benchOf('default'), ...objects])).access.ownHosts;
  const WITH_ALIAS = { ...WITH_INGRESS, aliases: ['www.example.com'] };

  test('all public host names of a site with an Ingress', () => {
    assert.deepEqual(hosts(mine(WITH_ALIAS)), [HOST, 'www.example.com']);
  });
  test('none of a site without one: none was refused', () => {
    assert.equal(hosts(mine({ siteName: HOST })), undefined);
  });
  test('none that another namespace shares: it would outlast the grant', () => {
    const grants = other({ creationTimestamp: OLD, annotations: { [GRANT]: 'default' } });
    assert.deepEqual(hosts(mine(WITH_ALIAS), grants), ['www.example.com']);
    assert.deepEqual(
      hosts(recorded(mine(WITH_ALIAS)), other({ annotations: { [GRANT]: 'default' } })),
      [HOST, 'www.example.com'],
    );
  });

  const refused = (site: AppSite): unknown => {
    const error = resolved(site, [ingress({}, 'taken.example.com')]);
    assert.ok(error);
    return error.fields['hosts'];
  };
  const aliases = ['www.example.com', HOST];
  const TAKEN = { ...WITH_INGRESS, domain: 'taken.example.com', aliases };
  test('no host name that a refused site does not want any more', () => {
    const before: AppSite = {
      ...mine(TAKEN),
      status: { hosts: [HOST, 'www.example.com', 'gone.example.com'] },
    };
    assert.deepEqual(refused(before), [HOST, 'www.example.com']);
  });
  test('no host name of a refused site that had none', () => {
    assert.equal(refused(mine(TAKEN)), undefined);
  });
  test('no host name of a site that waits for its bench and has no Ingress any more', () => {
    const site = recorded(mine({ siteName: HOST }));
    assert.throws(
      () => siteKind.resolve(site, aReader([])),
      (error: unknown) =>
        error instanceof Waiting && error.more.fields !== undefined && 'hosts' in error.more.fields,
    );
  });
});

describe('at admission', () => {
  const review = (object: AppSite, objects: readonly KubeObject[], old?: AppSite) =>
    validate({
      ...{ kind: siteKind, group: 'app-operator.io' },
      ...{ object, old, reader: aReader([benchOf('default'), ...objects]) },
    });
  test('whoever adds a host name is younger than every other site that has it', () => {
    const objects = [other({ creationTimestamp: NEW })];
    assert.deepEqual(review(mine(), objects).problems, [
      { path: 'spec.siteName', message: message() },
    ]);
    const old = mine({ siteName: 'own.example.com', ingress: { enabled: true } });
    const added = { ...old, spec: { ...old.spec, domain: HOST } };
    assert.deepEqual(review(added, objects, old).problems, [
      { path: 'spec.domain', message: message() },
    ]);
  });
  test('an alias that another namespace has gets a warning', () => {
    const old = mine({ siteName: 'own.example.com', ingress: { enabled: true } });
    const added = { ...old, spec: { ...old.spec, aliases: [HOST] } };
    assert.deepEqual(review(added, [recorded(other(), HOST)], old), {
      problems: [],
      warnings: [{ path: 'spec.aliases[0]', message: `has no effect: ${message()}` }],
      unsure: false,
    });
  });
  test('a site without an Ingress gets a warning', () => {
    const { problems, warnings } = review(mine({ siteName: HOST }), [
      other({ creationTimestamp: OLD }),
    ]);
    assert.deepEqual(problems, []);
    assert.deepEqual(warnings, [{ path: 'spec.siteName', message: message() }]);
  });
  test('the message does not name who has it', () => {
    const { problems } = review(mine(), [
      other({ creationTimestamp: OLD, namespace: 'secret-ns' }),
    ]);
    assert.ok(!JSON.stringify(problems).includes('secret-ns'));
  });
});

test('of an Ingress only host names, an address, age, owner and grants are kept in memory', () => {
  const { content } = Ingress;
  assert.ok(typeof content === 'function');
  const full = ingress({
    site: 's',
    annotations: { [GRANT]: 'a', 'example.com/large': 'x'.repeat(1000) },
  });
  const status = { loadBalancer: { ingress: [{ ip: '192.0.2.1' }] } };
  const kept = content({ ...full, status } as KubeObject);
  assert.deepEqual(ingressesByHost.values(kept), [HOST]);
  assert.deepEqual(Object.keys(kept), ['apiVersion', 'kind', 'metadata', 'spec', 'status']);
  assert.deepEqual(kept.metadata.annotations, { [GRANT]: 'a' });
  assert.equal(GRANT, metadataKeysFor('app-operator.io').allowHostFrom);
});
