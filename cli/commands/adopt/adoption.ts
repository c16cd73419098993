import type { KubeObject } from '../../../constructs/kit/object.js';
import { CliError, UsageError } from '../../arguments/errors.js';
import { benchOf, frameworkVersion, fullName, serversOf, type Servers } from './bench.js';
import { noteOn } from './notes.js';
import type { Live, Release } from './release.js';
import { listCommandOf, siteObjects, sitesOf, type FoundSite } from './sites.js';
import { Values, type Mapping } from './values.js';

/** An Ingress or an HTTPRoute of a release. */
export interface Entry {
  readonly kind: 'ingress' | 'httproute';
  readonly name: string;
}

/** What takes a release over. */
export interface Adoption {
  readonly release: Release;
  readonly bench: KubeObject;
  readonly sites: readonly KubeObject[];
  readonly servers: Servers;
  readonly claim: string;
  /** What leads visitors to the release. */
  readonly entries: readonly Entry[];
  readonly deployments: Live['deployments'];
  readonly mapped: readonly Mapping[];
  readonly kept: readonly Mapping[];
  readonly lost: readonly Mapping[];
  readonly warnings: readonly string[];
}

export interface AdoptionInputs {
  readonly release: Release;
  readonly live: Live;
  /** The access modes of the claim of this name. @throws CliError where it does not exist */
  readonly accessModes: (claim: string) => Promise<readonly string[]>;
  /** The values of `--site`. */
  readonly named: readonly string[];
  /** The value of `--bench`. */
  readonly benchName: string | undefined;
}

const NAME = /^[a-z]([-a-z0-9]*[a-z0-9])?$/;
const MAX_NAME = 45;
const MODES = ['ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod'];

/** @throws CliError, UsageError */
export async function adoptionOf(inputs: AdoptionInputs): Promise<Adoption> {
  const { release, live } = inputs;
  const values = new Values(release.defaults, release.config);
  const bench = benchName(inputs);
  const claim = claimOf(release, values);
  const servers = serversOf(release, values);
  const modes = await inputs.accessModes(claim);
  const accessMode = MODES.find((mode) => modes.includes(mode));
  if (accessMode === undefined) {
    throw new CliError(
      `PersistentVolumeClaim ${claim} has access mode ${modes.join(', ') || 'none'}, not ${MODES.join(' or ')}`,
    );
  }
  const image = imageOf(values, live);
  const version = frameworkVersion(image.tag, release.chart.appVersion);
  const knowsDatabases = /^version-1[45]$/.test(version);
  const listCommand = listCommandOf(release, fullName(release, values));
  const sites = sitesOf({ values, live, named: inputs.named, listCommand, knowsDatabases });
  const apps = [...new Set(sites.flatMap((site) => site.apps))];
  const props = { name: bench, release, values, servers, image, version, apps };
  const entries = entriesOf(fullName(release, values), values);
  const objects = {
    bench: benchOf({ ...props, claim: { name: claim, accessMode } }),
    sites: siteObjects(sites, { release, bench, values, servers }),
  };
  const others = values.others.map((value) => ({ value, ...noteOn(value) }));
  const rest = (isLost: boolean): readonly Mapping[] =>
    others
      .filter(({ lost }) => lost === isLost)
      .map(({ value, instead }) => ({ value, here: instead }));
  return {
    release,
    ...objects,
    servers,
    claim,
    entries,
    deployments: live.deployments,
    mapped: values.mapped,
    kept: rest(false),
    lost: rest(true),
    warnings: warningsOf({ inputs, values, sites, servers, entries, accessMode, image }),
  };
}

function entriesOf(name: string, values: Values): readonly Entry[] {
  const ingress = values.text('ingress.ingressName') || name;
  const route = values.text('httproute.name') || `${name}-httproute`;
  return [
    ...(values.isOn('ingress.enabled') ? [{ kind: 'ingress', name: ingress } as const] : []),
    ...(values.isOn('httproute.enabled') ? [{ kind: 'httproute', name: route } as const] : []),
  ];
}

function benchName({ release, benchName: given }: AdoptionInputs): string {
  const name = given ?? `${release.name}-bench`;
  if (NAME.test(name) && name.length <= MAX_NAME) return name;
  const allowed = `at most ${MAX_NAME} lower-case letters, digits and -, beginning with a letter`;
  if (given !== undefined) {
    throw new UsageError(`--bench: got ${JSON.stringify(given)}, allowed: ${allowed}`);
  }
  throw new UsageError(`the release's name is too long for the bench ${name}: use --bench NAME`);
}

function claimOf(release: Release, values: Values): string {
  values.note('persistence.worker.existingClaim', 'AppBench spec.storage.existingClaim');
  if (!values.isOn('persistence.worker.enabled')) {
    throw new CliError(
      `release ${release.name} has no volume for its sites (persistence.worker.enabled is not true): there is nothing to take over`,
    );
  }
  return values.text('persistence.worker.existingClaim') || fullName(release, values);
}

/** The image that the pods run, which a user may have changed without Helm; else that of the values. */
function imageOf(values: Values, { deployments }: Live): { repository: string; tag: string } {
  const running = deployments.find(({ name }) => name.endsWith('-gunicorn'))?.images[0] ?? '';
  const [, repository, tag] = /^([^@]+):([A-Za-z0-9_][A-Za-z0-9._-]*)$/.exec(running) ?? [];
  if (repository !== undefined && tag !== undefined) return { repository, tag };
  return { repository: values.text('image.repository'), tag: values.text('image.tag') };
}

interface Found {
  readonly inputs: AdoptionInputs;
  readonly values: Values;
  readonly sites: readonly FoundSite[];
  readonly servers: Servers;
  readonly entries: readonly Entry[];
  readonly accessMode: string;
  readonly image: { readonly repository: string; readonly tag: string };
}

function warningsOf({
  inputs,
  values,
  sites,
  servers,
  entries,
  accessMode,
  image,
}: Found): readonly string[] {
  const { release, live, named } = inputs;
  const reference = `${image.repository}:${image.tag}`;
  const stored = `${values.text('image.repository')}:${values.text('image.tag')}`;
  const guessed = sites.filter(({ host }) => !named.some((one) => one.startsWith(`${host}=`)));
  return [
    `Never uninstall the Helm release: its volume, database and Redis are objects of it, and go with it.`,
    ...(guessed.length > 0
      ? [
          `The framework's usual names of databases are taken for ${guessed.map(({ host }) => host).join(', ')}. Another one is refused, nothing is touched, and the message names it: then use --site HOST=DATABASE.`,
        ]
      : []),
    ...(reference === stored
      ? []
      : [`The pods run ${reference}, the values say ${stored}: the AppBench has the former.`]),
    ...(accessMode === 'ReadWriteMany'
      ? []
      : [
          `The volume is ${accessMode}: stop the old pods before you apply, since pods on another node cannot mount it.`,
        ]),
    ...(entries.length < 2
      ? []
      : [
          'The release has an Ingress and an HTTPRoute: the sites get Ingresses. Before you delete the HTTPRoute, make one of yours to the Service <bench>-nginx, port 8080.',
        ]),
    ...(servers.root
      ? []
      : [
          `The values do not tell the administrator's password of ${servers.host}: put it into the Secret yourself.`,
        ]),
    ...(servers.redis.cache !== undefined && servers.redis.queue !== undefined
      ? []
      : ['A URL of Redis has a password: put it into the Secret yourself.']),
    ...(live.deployments.length > 0
      ? []
      : [
          `No Deployment of release ${release.name} was found: is it scaled elsewhere, or removed?`,
        ]),
  ];
}
