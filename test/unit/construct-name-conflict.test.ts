import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { resolveBench } from '../../constructs/kinds/bench/resolve.js';
import { nginxSites } from '../../constructs/kinds/bench/routed-sites.js';
import { renderNginxConfig } from '../../constructs/kinds/bench/nginx-config.js';
import { isOlder, type NameOwner } from '../../constructs/frappe/oldest-wins.js';
import { Stalled } from '../../constructs/kit/errors.js';
import type { AppSite } from '../../constructs/api/site.js';
import { resolveSite } from '../../constructs/kinds/site/resolve.js';
import { aBench, aReadyBench, aSite, aReader } from '../golden/builders.js';

const claim = (kind: string, name: string, created = ''): NameOwner => ({ kind, name, created });
const site = (name: string, second: number, spec: Readonly<Record<string, unknown>>): AppSite =>
  aSite(spec, { name, creationTimestamp: `2026-01-01T00:00:0${second}Z` });

suite('of two conflicting resources exactly one is older', () => {
  const ORDER: readonly (readonly [reason: string, older: NameOwner, younger: NameOwner])[] = [
    [
      'by the time of creation',
      claim('AppSite', 'b', '2026-01-01T00:00:00Z'),
      claim('AppBench', 'a', '2026-01-01T00:00:01Z'),
    ],
    [
      'one with a time before one that is only previewed',
      claim('AppSite', 'b', '2026-01-01T00:00:00Z'),
      claim('AppBench', 'a'),
    ],
    [
      'at the same second by kind',
      claim('AppBench', 'x', '2026-01-01T00:00:00Z'),
      claim('AppSite', 'x', '2026-01-01T00:00:00Z'),
    ],
    [
      '… and by name',
      claim('AppSite', 'a', '2026-01-01T00:00:00Z'),
      claim('AppSite', 'b', '2026-01-01T00:00:00Z'),
    ],
    ['also where no one has a time', claim('AppSite', 'a'), claim('AppSite', 'b')],
  ];
  for (const [reason, older, younger] of ORDER) {
    test(reason, () => {
      assert.deepEqual([isOlder(older, younger), isOlder(younger, older)], [true, false]);
    });
  }
  test('and none is older than itself', () => {
    assert.equal(isOlder(claim('AppSite', 'a'), claim('AppSite', 'a')), false);
  });
});

suite('a host name that two sites claim', () => {
  /** What the proxy routes, and which sites say that they are refused. */
  function outcome(suffix: string | undefined, ...sites: readonly AppSite[]) {
    const bench = aReadyBench(suffix === undefined ? {} : { domainConfig: { suffix } });
    const reader = aReader([bench, ...sites]);
    const refused = sites.filter((candidate) => {
      try {
        resolveSite(candidate, reader);
        return false;
      } catch (error) {
        assert.ok(error instanceof Stalled);
        assert.equal(error.reason, 'DuplicateSiteName');
        return true;
      }
    });
    return {
      routed: nginxSites(resolveBench(bench, reader)).flatMap(({ siteName, domains }) =>
        [siteName, ...domains].map((host) => `${host}=${siteName}`),
      ),
      refused: refused.map(({ metadata }) => metadata.name),
    };
  }

  test('belongs to the older one, and the younger reports the conflict', () => {
    assert.deepEqual(
      outcome(
        undefined,
        site('young', 2, { siteName: 'a.example.com' }),
        site('old', 1, { siteName: 'a.example.com' }),
      ),
      { routed: ['a.example.com=a.example.com'], refused: ['young'] },
    );
  });
  test('is an alias of one and the name of another', () => {
    assert.deepEqual(
      outcome(
        undefined,
        site('old', 1, { siteName: 'a.example.com', domain: 'www.example.org' }),
        site('young', 2, { siteName: 'www.example.org' }),
      ),
      {
        routed: ['a.example.com=a.example.com', 'www.example.org=a.example.com'],
        refused: ['young'],
      },
    );
  });
  test('is made of the suffix of the bench', () => {
    assert.deepEqual(
      outcome(
        'example.com',
        site('young', 2, { siteName: 'a' }),
        site('old', 1, { siteName: 'a.example.com' }),
      ),
      { routed: ['a.example.com=a.example.com', 'a=a'], refused: ['young'] },
    );
    assert.deepEqual(
      outcome(
        'example.com',
        site('young', 2, { siteName: 'a.example.com' }),
        site('old', 1, { siteName: 'a' }),
      ),
      { routed: ['a=a', 'a.example.com=a'], refused: ['young'] },
    );
  });
  test('is all that the younger one loses: an alias too many takes no running site off the proxy', () => {
    assert.deepEqual(
      outcome(
        undefined,
        site('old', 1, { siteName: 'a.example.com', aliases: ['www.example.org'] }),
        site('young', 2, {
          siteName: 'b.example.com',
          domain: 'b.example.org',
          aliases: ['www.example.org'],
        }),
      ),
      {
        routed: [
          'a.example.com=a.example.com',
          'www.example.org=a.example.com',
          'b.example.com=b.example.com',
          'b.example.org=b.example.com',
        ],
        refused: [],
      },
    );
  });
  test('is named where it is left out as an alias', () => {
    const old = site('old', 1, { siteName: 'a.example.com' });
    const young = site('young', 2, { siteName: 'b.example.com', aliases: ['a.example.com', 'c.example.com'] }); // prettier-ignore
    const { hosts, ignoredAliases } = resolveSite(
      young,
      aReader([aReadyBench(), old, young]),
    ).access;
    assert.deepEqual(hosts, ['b.example.com', 'c.example.com']);
    assert.deepEqual(ignoredAliases, [
      {
        path: 'spec.aliases[0]',
        message:
          'has no effect: Invalid value: "a.example.com": AppSite old on bench demo-bench has this host name already',
      },
    ]);
  });
  for (const field of ['siteName', 'domain'] as const) {
    test(`stays with the younger site that runs by it, as its ${field}, when an older one adds it`, () => {
      const names = { siteName: 'b.example.com', domain: 'b.example.org' };
      const young = { ...site('young', 2, names), status: { siteURL: 'http://b.example.org' } };
      const old = site('old', 1, { siteName: 'a.example.com', aliases: [names[field]] });
      assert.deepEqual(outcome(undefined, old, young), {
        routed: [
          'a.example.com=a.example.com',
          'b.example.com=b.example.com',
          'b.example.org=b.example.com',
        ],
        refused: [],
      });
    });
  }
  test('stays with the younger site that has it recorded', () => {
    const aliases = ['www.example.org'];
    const status = { siteURL: 'http://b.example.com', hosts: ['b.example.com', ...aliases] };
    const young = { ...site('young', 2, { siteName: 'b.example.com', aliases }), status };
    const old = site('old', 1, { siteName: 'a.example.com', domain: 'www.example.org' });
    assert.deepEqual(outcome(undefined, old, young), {
      routed: [
        'a.example.com=a.example.com',
        'b.example.com=b.example.com',
        'www.example.org=b.example.com',
      ],
      refused: ['old'],
    });
  });
  test('does not conflict with a site that has another domain, older or not', () => {
    for (const [one, two] of [
      [1, 2],
      [2, 1],
    ] as const) {
      const { refused } = outcome(
        'example.com',
        site('one', one, { siteName: 'a.example.com' }),
        site('two', two, { siteName: 'a', domain: 'www.example.org' }),
      );
      assert.deepEqual(refused, []);
    }
  });
  test('does no harm on another bench', () => {
    const other = aReadyBench({}, { name: 'other' });
    const own = site('mine', 1, { siteName: 'a.example.com' });
    const theirs = site('theirs', 2, {
      siteName: 'a.example.com',
      benchRef: { name: 'other' },
    });
    const reader = aReader([aReadyBench(), other, own, theirs]);
    assert.doesNotThrow(() => resolveSite(own, reader));
    assert.doesNotThrow(() => resolveSite(theirs, reader));
  });
});

suite('a bench and a site of one name', () => {
  const NAMES: readonly (readonly [reason: string, bench: number, site: number, kind: string])[] = [
    ['the site is younger', 1, 2, 'AppSite'],
    ['the bench is younger', 2, 1, 'AppBench'],
    ['of one second: the bench keeps it', 1, 1, 'AppSite'],
  ];
  for (const [reason, benchAt, siteAt, refused] of NAMES) {
    test(`${reason}: the ${refused} is refused`, () => {
      const created = (at: number) => ({
        name: 'same',
        creationTimestamp: `2026-01-01T00:00:0${at}Z`,
      });
      const bench = aBench({}, created(benchAt));
      const conflicting = aSite({ benchRef: { name: 'demo-bench' } }, created(siteAt));
      const reader = aReader([bench, conflicting, aReadyBench()]);
      const attempt = {
        AppBench: () => resolveBench(bench, reader),
        AppSite: () => resolveSite(conflicting, reader),
      };
      assert.throws(attempt[refused as keyof typeof attempt], {
        name: 'Stalled',
        reason: 'NameTaken',
      });
      assert.doesNotThrow(attempt[refused === 'AppSite' ? 'AppBench' : 'AppSite']);
    });
  }
});

suite('a site whose name is too long with the suffix of the bench', () => {
  const label = 'x'.repeat(63);
  const suffix = [label, label, 'example.com'].join('.');
  const siteName = [label, 'x'.repeat(50)].join('.');
  const bench = aReadyBench({ domainConfig: { suffix } });

  test('is refused, and the bench routes it by its own name, and the other sites by theirs', () => {
    const long = aSite({ siteName }, { name: 'long' });
    const reader = aReader([bench, long, aSite({ siteName: 'a' }, { name: 'short' })]);
    assert.throws(() => resolveSite(long, reader), {
      name: 'Stalled',
      reason: 'InvalidSpec',
      message:
        'spec.siteName: Too long: with the suffix of bench demo-bench the host name has 254 characters, and may have at most 253: choose a shorter name, or give spec.domain',
    });
    const inputs = resolveBench(bench, reader);
    const { 'sites.conf': conf = '' } = renderNginxConfig({
      sites: nginxSites(inputs),
      clientMaxBodySize: '1m',
      proxyReadTimeout: 1,
    }).files;
    assert.ok(conf.includes(`  a.${suffix} a;\n`), conf);
    assert.ok(conf.includes(`  ${siteName} ${siteName};\n`), conf);
    assert.ok(!conf.includes(`${siteName}.${suffix}`), conf);
  });

  test('is accepted with one character less, or with a domain in the spec', () => {
    for (const spec of [{ siteName: siteName.slice(1) }, { siteName, domain: 'a.example.org' }]) {
      const site = aSite(spec);
      const { domain } = resolveSite(site, aReader([bench, site])).access;
      assert.ok(domain.length <= 253);
    }
  });
});
