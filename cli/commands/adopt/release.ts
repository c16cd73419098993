import { gunzipSync } from 'node:zlib';
import type { KubeObject } from '../../../constructs/kit/object.js';
import {
  Secret,
  Deployment,
  Job,
  PersistentVolumeClaim,
} from '../../../constructs/kit/object-kind.js';
import { isNotFound } from '../../../runner/api/api-error.js';
import { resourcePath } from '../../../runner/api/resource-path.js';
import { CliError } from '../../arguments/errors.js';
import type { ApiClient } from '../../kube/connect.js';
import { listOf } from '../../kube/snapshot.js';
import { isMap, type Tree } from './values.js';

/** A release as Helm stores it, as far as it is read. */
export interface Release {
  readonly name: string;
  readonly namespace: string;
  readonly revision: number;
  readonly chart: { readonly name: string; readonly version: string; readonly appVersion: string };
  /** The chart's own values. */
  readonly defaults: Tree;
  /** What the user has set. */
  readonly config: Tree;
}

/** What the cluster has of a release besides. */
export interface Live {
  /** The Deployments of the framework's processes. */
  readonly deployments: readonly {
    readonly name: string;
    readonly replicas: number;
    readonly images: readonly string[];
  }[];
  /** Sites that Jobs of the chart have made, and their apps. */
  readonly created: readonly { readonly site: string; readonly apps: readonly string[] }[];
}

const SECRET_TYPE = 'helm.sh/release.v1';
/** What Helm's own limit of a Secret allows a hundred times. */
const MAX_BYTES = 100 << 20;

/** The deployed revision of a release. @throws CliError where no revision is deployed */
export async function readRelease(
  client: ApiClient,
  namespace: string,
  name: string,
): Promise<Release> {
  const stored = { kind: Secret, labelSelector: 'owner=helm', metadataOnly: true } as const;
  const all = await listOf(client, stored, namespace);
  const revisions = all
    .filter((one) => one.metadata.labels?.['name'] === name)
    .toSorted((a, b) => revisionOf(b) - revisionOf(a));
  const [latest] = revisions;
  if (!latest) {
    const found = [...new Set(all.map(({ metadata }) => metadata.labels?.['name'] ?? ''))];
    const others = found.filter(Boolean).toSorted().join(', ') || 'none';
    throw new CliError(`no Helm release "${name}" in namespace ${namespace}; there: ${others}`);
  }
  const status = latest.metadata.labels?.['status'] ?? '';
  if (status.startsWith('pending-') || status === 'uninstalling') {
    throw new CliError(`release ${name} is ${status}: wait until Helm has ended, or roll it back`);
  }
  const deployed = revisions.find(({ metadata }) => metadata.labels?.['status'] === 'deployed');
  if (!deployed) throw new CliError(`release ${name} has no deployed revision: it is ${status}`);
  const path = resourcePath(Secret, namespace, deployed.metadata.name);
  return decode(await client.request<KubeObject>('GET', path), namespace);
}

function revisionOf({ metadata }: KubeObject): number {
  return Number(metadata.labels?.['version'] ?? 0);
}

/** @throws CliError unless the Secret holds a release of the chart erpnext */
export function decode(secret: KubeObject, namespace: string): Release {
  const { data, type } = secret as { data?: Record<string, string>; type?: string };
  const stored = data?.['release'];
  const name = secret.metadata.labels?.['name'] ?? '';
  let release: unknown;
  try {
    if (type !== SECRET_TYPE || stored === undefined) throw new Error(`type ${String(type)}`);
    const packed = Buffer.from(Buffer.from(stored, 'base64').toString(), 'base64');
    release = JSON.parse(gunzipSync(packed, { maxOutputLength: MAX_BYTES }).toString());
  } catch {
    throw new CliError(`Secret ${secret.metadata.name} is no release that Helm 3 has stored`);
  }
  const root = mapOf(release);
  const chart = mapOf(root['chart']);
  const metadata = mapOf(chart['metadata']);
  const chartName = String(metadata['name']);
  const version = String(metadata['version']);
  if (chartName !== 'erpnext') {
    throw new CliError(
      `release ${name} is of the chart ${chartName} ${version}, not of erpnext of frappe/helm`,
    );
  }
  return {
    name,
    namespace,
    revision: Number(root['version'] ?? revisionOf(secret)),
    chart: { name: chartName, version, appVersion: textOf(metadata['appVersion']) },
    defaults: mapOf(chart['values']),
    config: mapOf(root['config']),
  };
}

/** Empty for what is no text. */
function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function mapOf(value: unknown): Tree {
  return isMap(value) ? value : {};
}

interface Workload extends KubeObject {
  readonly spec?: {
    readonly replicas?: number;
    readonly template?: { readonly spec?: { readonly containers?: Container[] } };
  };
}

interface Container {
  readonly image?: string;
  readonly args?: readonly string[];
  readonly env?: readonly { readonly name: string; readonly value?: string }[];
}

export async function readLive(client: ApiClient, release: Release): Promise<Live> {
  const labelSelector = `app.kubernetes.io/instance=${release.name},helm.sh/chart`;
  const list = (kind: typeof Job): Promise<readonly KubeObject[]> =>
    listOf(client, { kind, labelSelector }, release.namespace);
  const [deployments, jobs] = await Promise.all([list(Deployment), list(Job)]);
  return {
    deployments: deployments
      .filter(({ metadata }) => metadata.labels?.['helm.sh/chart']?.startsWith('erpnext-'))
      .map((one) => ({
        name: one.metadata.name,
        replicas: (one as Workload).spec?.replicas ?? 1,
        images: containersOf(one).map(({ image = '' }) => image),
      })),
    created: jobs.flatMap(containersOf).flatMap(createdBy),
  };
}

function containersOf(object: KubeObject): readonly Container[] {
  return (object as Workload).spec?.template?.spec?.containers ?? [];
}

/** The sites that a container of the chart makes: each in a call of its own. */
function createdBy({ args = [], env = [] }: Container): Live['created'] {
  const named = env.find(({ name }) => name === 'SITE_NAME')?.value ?? '';
  return [...args.join('\n').matchAll(/bench new-site (\S+)([^|]*)/g)].map(
    ([, site = '', rest = '']) => ({
      site: site.includes('SITE_NAME') ? named : site,
      apps: [...rest.matchAll(/--install-app=([a-z0-9_]+)/g)].map(([, app = '']) => app),
    }),
  );
}

/** The access modes of a claim. @throws CliError where it does not exist */
export async function readClaim(
  client: ApiClient,
  namespace: string,
  name: string,
): Promise<readonly string[]> {
  const path = resourcePath(PersistentVolumeClaim, namespace, name);
  try {
    const claim = await client.request<{ spec?: { accessModes?: readonly string[] } }>('GET', path);
    return claim.spec?.accessModes ?? [];
  } catch (error) {
    if (!isNotFound(error)) throw error;
    throw new CliError(
      `the release's volume is missing: no PersistentVolumeClaim "${name}" in namespace ${namespace}`,
    );
  }
}
