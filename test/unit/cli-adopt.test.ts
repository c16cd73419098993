/**
 * `app-operator adopt` against stored releases: what it prints, and what it refuses. The chart's defaults
 * here are the few that the command reads; names and structure are those of the chart erpnext 8.0.75.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { suite, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { adoptionOf, type Adoption } from '../../cli/commands/adopt/adoption.js';
import { noteOn } from '../../cli/commands/adopt/notes.js';
import { tableOf, yamlOf } from '../../cli/commands/adopt/output.js';
import { readClaim, readLive, readRelease } from '../../cli/commands/adopt/release.js';
import { runAdopt } from '../../cli/commands/adopt/run.js';
import { databaseOf } from '../../cli/commands/adopt/sites.js';
import { renderObjects } from '../../cli/testing.js';
import { ApiError } from '../../runner/api/api-error.js';
import { assertGolden } from '../golden/compare.js';
import { ROOT } from '../support/docs-tables.js';

const DEFAULTS = {
  image: { repository: 'frappe/erpnext', tag: 'v16.32.3', pullPolicy: 'IfNotPresent' },
  externalRedis: { cache: '', queue: '' },
  'valkey-cache': { enabled: true },
  'valkey-queue': { enabled: true },
  nginx: {
    replicaCount: 1,
    environment: { frappeSiteNameHeader: '$host', upstreamRealIPAddress: '127.0.0.1' },
  },
  persistence: { worker: { enabled: true, size: '8Gi' } },
  ingress: { enabled: false, hosts: [{ host: 'erp.cluster.local' }] },
  jobs: { createSite: { enabled: false, siteName: 'erp.cluster.local', installApps: ['erpnext'] } },
};
const SHOP = {
  'mariadb-sts': { enabled: true, rootPassword: 'never printed' },
  image: { repository: 'registry.example.com/erp', tag: 'v15.44.2' },
  imagePullSecrets: [{ name: 'registry' }],
  persistence: { worker: { storageClass: 'nfs', size: '20Gi' } },
  nginx: {
    replicaCount: 2,
    config: 'server {}',
    environment: { clientMaxBodySize: '100m', proxyReadTimeout: '300' },
    nodeSelector: { pool: 'web' },
  },
  worker: {
    gunicorn: { replicaCount: 3, resources: { limits: { memory: '1Gi' } }, args: ['gunicorn'] },
    default: {
      envVars: [{ name: 'TZ', value: 'Europe/Berlin' }],
      podAnnotations: { team: 'shop' },
    },
    long: { autoscaling: { enabled: true, minReplicas: 1, maxReplicas: 4, targetCPU: 60 } },
  },
  ingress: {
    enabled: true,
    className: 'nginx',
    annotations: { 'cert-manager.io/cluster-issuer': 'letsencrypt', 'example.com/team': 'shop' },
    hosts: [{ host: 'shop.example.com' }, { host: 'blog.example.com' }],
    tls: [{ secretName: 'web', hosts: ['shop.example.com', 'blog.example.com'] }],
  },
  jobs: {
    createSite: { enabled: true, siteName: 'shop.example.com', adminPassword: 'hidden too' },
  },
  dbExistingSecret: 'unused',
  unheardOf: { of: { value: 1 } },
};

interface Options {
  readonly config?: object;
  readonly chart?: string;
  readonly status?: string;
  readonly modes?: readonly string[] | undefined;
  readonly data?: string;
  readonly jobs?: readonly object[];
  readonly image?: string;
}

/** An API server that has one release. */
function cluster(options: Options = {}) {
  const { config = SHOP, chart = 'erpnext', status = 'deployed' } = options;
  const { image = 'registry.example.com/erp:v15.44.2' } = options;
  const metadata = { name: chart, version: '8.0.75', appVersion: 'v16.32.3' };
  const release = { version: 3, config, chart: { metadata, values: DEFAULTS } };
  const packed = gzipSync(JSON.stringify(release)).toString('base64');
  const labels = { name: 'erp', owner: 'helm', status, version: '3' };
  const secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'helm.sh/release.v1',
    metadata: { name: 'sh.helm.release.v1.erp.v3', namespace: 'shop', labels },
    data: { release: options.data ?? Buffer.from(packed).toString('base64') },
  };
  const deployment = (part: string, replicas: number) => ({
    metadata: { name: `erp-erpnext-${part}`, labels: { 'helm.sh/chart': 'erpnext-8.0.75' } },
    spec: {
      replicas,
      template: { spec: { containers: [{ image }] } },
    },
  });
  const LIST = { apiVersion: 'v1', kind: 'List', metadata: { resourceVersion: '1' } };
  const modes = 'modes' in options ? options.modes : ['ReadWriteMany'];
  const answers: Readonly<Record<string, unknown>> = {
    secrets: { ...LIST, items: [secret] },
    [secret.metadata.name]: secret,
    deployments: {
      ...LIST,
      items: [deployment('gunicorn', 3), deployment('nginx', 2), deployment('scheduler', 1)],
    },
    jobs: { ...LIST, items: options.jobs ?? [] },
    ...(modes ? { 'erp-erpnext': { spec: { accessModes: modes } } } : {}),
  };
  return {
    request: <T>(method: string, path: string): Promise<T> => {
      assert.equal(method, 'GET', 'nothing is changed');
      const name = new URL(path, 'http://x').pathname.split('/').at(-1) ?? '';
      if (name in answers) return Promise.resolve(structuredClone(answers[name]) as T);
      return Promise.reject(ApiError.ofStatus(path, { code: 404, reason: 'NotFound' }));
    },
  };
}

async function adopt(
  options: Options = {},
  named: readonly string[] = [],
  benchName?: string,
): Promise<Adoption> {
  const client = cluster(options) as never;
  const release = await readRelease(client, 'shop', 'erp');
  const live = await readLive(client, release);
  const accessModes = (claim: string) => readClaim(client, 'shop', claim);
  return adoptionOf({ release, live, accessModes, named, benchName });
}

const siteNames = ({ sites }: Adoption) =>
  sites.map((site) => (site as never as { spec: { siteName: string } }).spec.siteName);

suite('adopt prints', () => {
  test('the resources and what is lost', async () => {
    const adoption = await adopt();
    const yaml = yamlOf(adoption, 'app-operator');
    assertGolden(`${ROOT}test/unit/cli-adopt.yaml.txt`, yaml);
    assertGolden(`${ROOT}test/unit/cli-adopt.table.txt`, tableOf(adoption, 'app-operator'));
    assert.doesNotMatch(yaml, /never printed|hidden too/);
  });
  test('resources that the operator accepts, and makes its objects of', async () => {
    const { bench, sites } = await adopt();
    const objects = renderObjects([bench, ...sites], { serves: [] });
    assert.match(objects, /claimName: erp-erpnext\n/);
    assert.match(objects, /value: erp-erpnext-mariadb-sts\n/);
  });
  test('something for each value of the chart', () => {
    const names = readFileSync(`${ROOT}test/unit/frappe-chart-values.txt`, 'utf8')
      .trim()
      .split('\n');
    const unknown = names.slice(1).filter((name) => noteOn(name).instead.startsWith('unknown'));
    // What a field takes, whatever the value.
    const inFields =
      /^(image|dbHost|dbPort|dbRoot|dbExisting|externalRedis|imagePullSecrets|ingress|nginx\.environment|.*\.(replicaCount|resources|nodeSelector|tolerations|affinity|podAnnotations|envVars)$)/;
    assert.deepEqual(
      unknown.filter((name) => !inFields.test(name)),
      [],
    );
  });
  test('the name of the database that the framework gives', () => {
    // hashlib.sha1(b'/home/frappe/frappe-bench/sites/shop.example.com').hexdigest()[:16]
    assert.equal(databaseOf('shop.example.com'), '_2e09560bce9211c3');
  });
  test('sites of a Job of the chart, or of --site', async () => {
    const args = [
      'set -x; bench_output=$(bench new-site ${SITE_NAME} --db-type=x --install-app=erpnext --install-app=hrms | tee /dev/stderr);',
    ];
    const env = [{ name: 'SITE_NAME', value: 'made.example.com' }];
    const job = {
      metadata: { name: 'j' },
      spec: { template: { spec: { containers: [{ args, env }] } } },
    };
    const { jobs: _jobs, ingress: _ingress, ...config } = SHOP;
    const made = await adopt({ config, jobs: [job] });
    assert.deepEqual(siteNames(made), ['made.example.com']);
    assert.match(yamlOf(made, 'x'), /- name: hrms\n/);
    const named = await adopt({ config }, ['a.example.com=_db', 'b.example.com']);
    assert.deepEqual(siteNames(named), ['a.example.com', 'b.example.com']);
    assert.match(yamlOf(named, 'x'), /name: _db\n/);
  });
  test('one site with aliases where the proxy has a fixed name', async () => {
    const nginx = { environment: { frappeSiteNameHeader: 'one.example.com' } };
    const { jobs: _jobs, ...config } = SHOP;
    const adoption = await adopt({ config: { ...config, nginx } });
    assert.deepEqual(siteNames(adoption), ['one.example.com']);
    assert.match(
      yamlOf(adoption, 'x'),
      /aliases:\n {4}- shop.example.com\n {4}- blog.example.com\n/,
    );
  });
  test('a Gateway, and gunicorn that scales', async () => {
    const { ingress: _ingress, ...config } = SHOP;
    const httproute = {
      enabled: true,
      annotations: { 'example.com/team': 'shop' },
      parentRefs: [
        { gatewayName: 'public', gatewayNamespace: 'infra', gatewaySectionName: 'https' },
      ],
      hostnames: ['shop.example.com'],
    };
    const autoscaling = { enabled: true, minReplicas: 2, maxReplicas: 6, targetCPU: 60 };
    const adoption = await adopt({
      config: { ...config, httproute, worker: { gunicorn: { autoscaling } } },
    });
    const text = tableOf(adoption, 'x');
    assert.doesNotMatch(text, /LOST[^]*httproute[^]*Before/);
    assert.match(text, /^ {2}kubectl -n shop delete httproute erp-erpnext-httproute$/m);
    assert.match(text, /^ {2}kubectl apply -f erp-erpnext-httproute\.httproute\.yaml$/m);
    assert.match(
      text,
      /^ {2}kubectl -n shop wait --for=delete --timeout=2m httproute\/shop-example-com-ingress$/m,
    );
    const { spec } = adoption.sites[0] as never as { spec: { ingress: object } };
    assert.deepEqual(spec.ingress, {
      enabled: true,
      gatewayRef: { name: 'public', namespace: 'infra', sectionName: 'https' },
      annotations: { 'example.com/team': 'shop' },
    });
    const bench = adoption.bench as never as { spec: Record<string, unknown> };
    assert.deepEqual(bench.spec['webAutoscaling'], {
      enabled: true,
      minReplicas: 2,
      maxReplicas: 6,
      target: { value: 60 },
    });
    const objects = renderObjects([adoption.bench, ...adoption.sites], { serves: [] });
    assert.match(objects, /kind: HorizontalPodAutoscaler\n/);
  });
  test('no password of Redis', async () => {
    const externalRedis = { cache: 'redis://:hunter2@r:6379', queue: 'r:6379' };
    const text = tableOf(await adopt({ config: { ...SHOP, externalRedis } }), 'x');
    assert.doesNotMatch(text, /hunter2/);
    assert.match(
      text,
      /--from-literal=cache="\$REDIS_CACHE_URL" --from-literal=queue=redis:\/\/r:6379/,
    );
  });
});

suite('adopt refuses', () => {
  const { 'mariadb-sts': _server, ...noDatabase } = SHOP;
  const { jobs: _jobs, ingress: _ingress, ...noSites } = SHOP;
  const CASES: readonly (readonly [string, () => Promise<unknown>, RegExp])[] = [
    [
      'another chart',
      () => adopt({ chart: 'wordpress' }),
      /^release erp is of the chart wordpress 8\.0\.75, not of erpnext of frappe\/helm$/,
    ],
    [
      'a release that Helm changes',
      () => adopt({ status: 'pending-upgrade' }),
      /^release erp is pending-upgrade: wait until Helm has ended, or roll it back$/,
    ],
    [
      'a release that was never deployed',
      () => adopt({ status: 'failed' }),
      /^release erp has no deployed revision: it is failed$/,
    ],
    [
      'a damaged release',
      () => adopt({ data: 'AAAA' }),
      /^Secret sh\.helm\.release\.v1\.erp\.v3 is no release that Helm 3 has stored$/,
    ],
    [
      'a missing release',
      () => readRelease(cluster(), 'shop', 'other'),
      /^no Helm release "other" in namespace shop; there: erp$/,
    ],
    [
      'a missing claim',
      () => adopt({ modes: undefined }),
      /^the release's volume is missing: no PersistentVolumeClaim "erp-erpnext" in namespace shop$/,
    ],
    [
      'a claim that nothing writes',
      () => adopt({ modes: ['ReadOnlyMany'] }),
      /^PersistentVolumeClaim erp-erpnext has access mode ReadOnlyMany, not /,
    ],
    [
      'a release without a volume',
      () => adopt({ config: { ...SHOP, persistence: { worker: { enabled: false } } } }),
      /^release erp has no volume for its sites /,
    ],
    ['no database', () => adopt({ config: noDatabase }), /^the release names no database: /],
    [
      'a port that is none',
      () => adopt({ config: { ...noDatabase, dbHost: 'db', dbPort: 'x' } }),
      /^dbPort of the release is no port: "x"$/,
    ],
    [
      'no Redis',
      () => adopt({ config: { ...SHOP, 'valkey-queue': { enabled: false } } }),
      /^the release names no Redis for the queue: /,
    ],
    [
      'no site',
      () => adopt({ config: noSites }),
      /^the release does not tell its sites: name them with --site HOST=DATABASE; this prints them: kubectl -n shop exec deployment\/erp-erpnext-gunicorn -- /,
    ],
    [
      'a database that version 16 has named',
      () => adopt({ image: 'r/erp:v16.32.3' }),
      /^from version 16 on databases have random names: add that of blog\.example\.com with /,
    ],
    [
      'a site in capitals',
      () =>
        adopt({
          config: { ...noSites, jobs: { createSite: { enabled: true, siteName: 'Shop' } } },
        }),
      /^site "Shop" is no lower-case DNS name: /,
    ],
    [
      '--site with a path',
      () => adopt({}, ['../x']),
      /^--site: got "\.\.\/x", allowed: HOST or HOST=DATABASE, /,
    ],
    [
      '--site with a wrong database',
      () => adopt({}, ['a.b=DROP TABLE']),
      /^--site: got "a\.b=DROP TABLE", allowed: a database of /,
    ],
    ['--site twice', () => adopt({}, ['a.b', 'a.b']), /^--site: a\.b is given twice$/],
    ['--bench in capitals', () => adopt({}, [], 'B'), /^--bench: got "B", allowed: at most 45 /],
    [
      'no --release',
      async () => runAdopt({ values: { site: [] }, positionals: [] } as never, {} as never),
      /^--release NAME is missing: /,
    ],
    [
      '--release with a slash',
      async () =>
        runAdopt({ values: { site: [], release: 'a/b' }, positionals: [] } as never, {} as never),
      /^--release: got "a\/b", allowed: the name of a Helm release$/,
    ],
    [
      '--dry-run=false',
      async () =>
        runAdopt(
          { values: { site: [], release: 'a', 'dry-run': false }, positionals: [] } as never,
          {} as never,
        ),
      /^--dry-run=false: the command changes nothing; /,
    ],
  ];
  for (const [what, call, message] of CASES) {
    test(what, async () => {
      await assert.rejects(async () => call(), { message });
    });
  }
});
