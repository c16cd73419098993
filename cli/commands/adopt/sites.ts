import { createHash } from 'node:crypto';
import type { KubeObject } from '../../../constructs/kit/object.js';
import { CliError, UsageError } from '../../arguments/errors.js';
import { API_VERSION, given, listOf, type Servers } from './bench.js';
import type { Live, Release } from './release.js';
import { isMap, type Values } from './values.js';

/** A site of a release. */
export interface FoundSite {
  readonly host: string;
  readonly database: string;
  /** Further host names that lead to it. */
  readonly aliases: readonly string[];
  /** Apps that are known to be installed. */
  readonly apps: readonly string[];
}

const HOST = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?([.][a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$/;
const DATABASE = /^[a-z_][a-z0-9_]{0,62}$/;
/** Where the images of frappe_docker have the sites. */
const SITES = '/home/frappe/frappe-bench/sites';

export interface SitesInputs {
  readonly values: Values;
  readonly live: Live;
  /** The values of `--site`. */
  readonly named: readonly string[];
  /** What prints the values of `--site` for all sites of the volume. */
  readonly listCommand: string;
  /** Whether the framework gives databases names that follow from those of the sites. */
  readonly knowsDatabases: boolean;
}

/** @throws UsageError, CliError */
export function sitesOf(inputs: SitesInputs): readonly FoundSite[] {
  const { values, live, named, listCommand } = inputs;
  const created = [...createdByValues(values), ...live.created];
  const hosts = routedHosts(values);
  const header = values.text('nginx.environment.frappeSiteNameHeader');
  values.note('nginx.environment.frappeSiteNameHeader', 'AppSite spec.siteName and spec.aliases');
  const fixed = header && !header.startsWith('$') ? header : undefined;
  const given = named.map(parsed);
  const names = given.length > 0 ? given.map(({ host }) => host) : found(created, hosts, fixed);
  if (names.length === 0) {
    throw new CliError(
      `the release does not tell its sites: name them with --site HOST=DATABASE; this prints them: ${listCommand}`,
    );
  }
  return names.map((host, index) => {
    if (!HOST.test(host) || host.length > 200) {
      throw new CliError(
        `site ${JSON.stringify(host)} is no lower-case DNS name: name the sites with --site HOST`,
      );
    }
    const database = given[index]?.database;
    if (database === undefined && !inputs.knowsDatabases) {
      throw new CliError(
        `from version 16 on databases have random names: add that of ${host} with --site HOST=DATABASE; this prints all: ${listCommand}`,
      );
    }
    const apps = created.filter(({ site }) => site === host).flatMap((one) => one.apps);
    return {
      host,
      database: database ?? databaseOf(host),
      aliases: host === fixed ? hosts.filter((other) => other !== host) : [],
      apps: [...new Set(['frappe', ...apps])],
    };
  });
}

function parsed(text: string): { readonly host: string; readonly database: string | undefined } {
  const [host = '', database, ...rest] = text.split('=');
  if (!HOST.test(host) || host.length > 200 || rest.length > 0) {
    throw new UsageError(
      `--site: got ${JSON.stringify(text)}, allowed: HOST or HOST=DATABASE, with a lower-case DNS name`,
    );
  }
  if (database !== undefined && !DATABASE.test(database)) {
    throw new UsageError(
      `--site: got ${JSON.stringify(text)}, allowed: a database of lower-case letters, digits and _`,
    );
  }
  return { host, database };
}

function found(
  created: Live['created'],
  hosts: readonly string[],
  fixed: string | undefined,
): readonly string[] {
  const all = [...created.map(({ site }) => site), ...(fixed ? [fixed] : hosts)];
  return [...new Set(all)].filter(Boolean).toSorted();
}

function createdByValues(values: Values): Live['created'] {
  const names = (value: unknown): readonly string[] => listOf(value).map(String);
  const one = values.isOn('jobs.createSite.enabled')
    ? [
        {
          site: values.text('jobs.createSite.siteName'),
          apps: names(values.get('jobs.createSite.installApps')),
        },
      ]
    : [];
  const several = values.isOn('jobs.createMultipleSites.enabled')
    ? listOf(values.get('jobs.createMultipleSites.sites')).filter(isMap)
    : [];
  for (const path of ['jobs.createSite.siteName', 'jobs.createMultipleSites.sites']) {
    values.note(path, 'AppSite spec.siteName');
  }
  values.note('jobs.createSite.installApps', 'AppSite spec.apps');
  return [
    ...one,
    ...several.map((site) => ({ site: String(site['name']), apps: names(site['installApps']) })),
  ];
}

function routedHosts(values: Values): readonly string[] {
  const hosts = [...ingressHosts(values), ...routeHosts(values)];
  return [...new Set(hosts)].filter(Boolean);
}

/** None where the release has no Ingress. */
function ingressHosts(values: Values): readonly string[] {
  if (!values.isOn('ingress.enabled')) return [];
  return listOf(values.get('ingress.hosts'))
    .filter(isMap)
    .map(({ host }) => (typeof host === 'string' ? host : ''));
}

/** None where the release has no HTTPRoute. */
function routeHosts(values: Values): readonly string[] {
  if (!values.isOn('httproute.enabled')) return [];
  return listOf(values.get('httproute.hostnames')).map(String);
}

/** Whether these hosts lead to a site: all do where nginx has a fixed site. */
function leadsTo(host: string, hosts: readonly string[], values: Values): boolean {
  return hosts.includes(host) || host === values.text('nginx.environment.frappeSiteNameHeader');
}

/** Prints `--site HOST=DATABASE` for each site of the volume, and none of its secrets. */
export function listCommandOf({ namespace }: Release, fullName: string): string {
  const script =
    'import glob, json; [print("--site", f.split("/")[1] + "=" + json.load(open(f))["db_name"]) for f in glob.glob("sites/*/site_config.json")]';
  return `kubectl -n ${namespace} exec deployment/${fullName}-gunicorn -- python3 -c '${script}'`;
}

/** As versions 14 and 15 name it, where no name was chosen. */
export function databaseOf(host: string): string {
  return `_${createHash('sha1').update(`${SITES}/${host}`).digest('hex').slice(0, 16)}`;
}

export interface SiteProps {
  readonly release: Release;
  readonly bench: string;
  readonly values: Values;
  readonly servers: Servers;
}

export function siteObjects(sites: readonly FoundSite[], props: SiteProps): readonly KubeObject[] {
  const hosts = sites.map(({ host }) => host);
  const twice = hosts.find((host, index) => hosts.indexOf(host) !== index);
  if (twice) throw new UsageError(`--site: ${twice} is given twice`);
  const plain = hosts.map(nameOf);
  return sites.map((site, index) => {
    const name = plain[index] ?? '';
    const unique = plain.filter((other) => other === name).length === 1 && name.length <= MAX_NAME;
    return siteObject(unique ? name : shortened(name, site.host), site, props);
  });
}

const MAX_NAME = 45;

function nameOf(host: string): string {
  const name = host.replaceAll('.', '-');
  return /^[a-z]/.test(name) ? name : `site-${name}`;
}

function shortened(name: string, host: string): string {
  const hash = createHash('sha1').update(host).digest('hex').slice(0, 8);
  return `${name.slice(0, MAX_NAME - 9).replace(/-+$/, '')}-${hash}`;
}

function siteObject(
  name: string,
  { host, database, aliases, apps }: FoundSite,
  { release, bench, values, servers }: SiteProps,
): KubeObject {
  const spec = {
    benchRef: { name: bench },
    siteName: host,
    ...given('aliases', aliases),
    adopt: true,
    apps: apps.map((app) => ({ name: app })),
    // As in the chart: the processes of the bench serve all sites.
    workloads: 'Shared',
    dbConfig: { mode: 'external', host: servers.host, port: servers.port, name: database },
    ...given('ingress', ingressOf(host, values) ?? routeOf(host, values)),
    deletionPolicy: 'Retain',
  };
  const { namespace } = release;
  return {
    apiVersion: API_VERSION,
    kind: 'AppSite',
    metadata: { name, namespace },
    spec,
  } as KubeObject;
}

const ISSUERS = {
  'cert-manager.io/cluster-issuer': 'ClusterIssuer',
  'cert-manager.io/issuer': 'Issuer',
} as const;
const CLASS = 'kubernetes.io/ingress.class';

function ingressOf(host: string, values: Values): object | undefined {
  for (const path of [
    'ingress.enabled',
    'ingress.className',
    'ingress.annotations',
    'ingress.hosts',
    'ingress.tls',
  ]) {
    values.note(path, 'AppSite spec.ingress');
  }
  const isOn = values.isOn('ingress.enabled');
  if (!isOn || !leadsTo(host, ingressHosts(values), values)) return undefined;
  const configured = values.get('ingress.annotations');
  const annotations = isMap(configured) ? configured : {};
  const issuer = Object.entries(ISSUERS).find(([key]) => typeof annotations[key] === 'string');
  const others = Object.entries(annotations).filter(([key]) => key !== CLASS && !(key in ISSUERS));
  return {
    enabled: true,
    ...given('className', values.text('ingress.className') || annotations[CLASS]),
    ...given('annotations', Object.fromEntries(others)),
    ...given(
      'tls',
      tlsOf(host, values, issuer && { name: annotations[issuer[0]], kind: issuer[1] }),
    ),
  };
}

/** The way by a Gateway. Of several, the first one counts; rules of the chart's route are lost. */
function routeOf(host: string, values: Values): object | undefined {
  const paths = ['enabled', 'name', 'hostnames', 'parentRefs', 'annotations'];
  for (const path of paths) values.note(`httproute.${path}`, 'AppSite spec.ingress');
  const [parent] = listOf(values.get('httproute.parentRefs')).filter(isMap);
  const isOn = values.isOn('httproute.enabled');
  if (!isOn || !parent || !leadsTo(host, routeHosts(values), values)) return undefined;
  return {
    enabled: true,
    gatewayRef: {
      name: parent['gatewayName'],
      ...given('namespace', parent['gatewayNamespace']),
      ...given('sectionName', parent['gatewaySectionName']),
    },
    ...given('annotations', values.get('httproute.annotations')),
  };
}

function tlsOf(
  host: string,
  values: Values,
  issuer: { readonly name: unknown; readonly kind: string } | undefined,
): object | undefined {
  const entry = listOf(values.get('ingress.tls'))
    .filter(isMap)
    .find(({ hosts }) => listOf(hosts).includes(host));
  if (!entry) return undefined;
  // The issuer makes a certificate of its own: that of the chart may be of several hosts.
  return issuer
    ? { enabled: true, certManagerIssuer: issuer.name, issuerKind: issuer.kind }
    : { enabled: true, ...given('secretName', entry['secretName']) };
}
