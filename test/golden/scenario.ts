import { readdirSync, readFileSync, existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parse, parseAllDocuments } from 'yaml';
import { admit, type Admission } from '../../constructs/kit/schema/admit.js';
import type { Health } from '../../constructs/kit/health.js';
import type { JobRun, ProbeResult } from '../../constructs/kit/kind.js';
import type { KindDefinition } from '../../constructs/kit/definition.js';
import type { KubeObject } from '../../constructs/kit/object.js';
import { DEFAULT_SETTINGS, type Settings } from '../../constructs/kit/operator-settings.js';
import { DEFINITIONS } from '../../constructs/registry.js';
import { memoize } from '../support/memoize.js';

/** The folders of scenarios in the sources: what is compiled knows where it came from. */
export const SCENARIOS = fileURLToPath(
  new URL('../../../../test/golden/scenarios/', import.meta.url),
);
/** The files of a scenario: `WRITTEN` by a person, `GENERATED` by the test. */
export const WRITTEN = ['README.md', 'cr.yaml', 'cluster.yaml', 'observed.yaml'];
export const GENERATED = ['objects.yaml', 'status.yaml'];

/** The moment of every scenario. */
export const NOW = '2026-01-01T00:00:00Z';

/** `cluster.yaml`: the objects of the cluster other than the resources. */
export interface ClusterFile {
  /** Scenario that this one differs from: objects that are the same there are only named. */
  readonly base?: string;
  /** What the operator's administrator decided. */
  readonly settings?: Partial<Settings>;
  /** Optional APIs that the cluster serves, as `<apiVersion>/<kind>`. */
  readonly serves?: readonly string[];
  /** Further objects; ours are admitted like those of `cr.yaml`. */
  readonly objects?: readonly KubeObject[];
  /** Whether the resources are being deleted. */
  readonly deleting?: boolean;
  /** The earlier statuses of the resources. */
  readonly status?: Readonly<Record<string, unknown>>;
}

/** `observed.yaml`: what has become of the children. */
export interface ObservedFile {
  /** `ready`: all that are not in `but`; `none`: not one is there. @default ready */
  readonly children?: 'ready' | 'none';
  /** The children with another health, by `<kind>/<name>`. */
  readonly but?: Readonly<Record<string, Health>>;
  /** What autoscalers made of workloads, by `<kind>/<name>`. */
  readonly replicas?: Readonly<
    Record<string, { readonly desired: number; readonly current: number }>
  >;
  /** What Jobs have left, as `Observation.runs`. @default nothing */
  readonly runs?: readonly JobRun[];
  /** What the HTTP checks found. @default all pass */
  readonly probes?: readonly ProbeResult[];
}

export interface Scenario {
  readonly name: string;
  /** The heading of its README; empty if the first line is none. */
  readonly title: string;
  readonly base: string | undefined;
  readonly admissions: readonly Admission[];
  readonly settings: Settings;
  readonly serves: readonly string[];
  readonly objects: readonly KubeObject[];
  readonly deleting: boolean;
  readonly observed: ObservedFile;
}

export function scenarioNames(): readonly string[] {
  return readdirSync(SCENARIOS).sort();
}

export const readScenario = memoize((name: string): Scenario => {
  const reader: ClusterFile = readYaml(name, 'cluster.yaml') ?? {};
  const written = parseAllDocuments(read(name, 'cr.yaml')).map(plain);
  const { deleting = false, status } = reader;
  const before = status ? { status } : {};
  return {
    name,
    title: titleOf(name),
    base: reader.base,
    admissions: written.map((object, at) => admitted({ ...object, ...before }, deleting, at)),
    settings: { ...DEFAULT_SETTINGS, ...reader.settings },
    serves: reader.serves ?? [],
    objects: (reader.objects ?? []).map((object, at) => clusterObject(object, at)),
    deleting,
    observed: readYaml(name, 'observed.yaml') ?? {},
  };
});

/** What scenarios and pages call a kind: `bench`, `site`, `siteuser` … */
export function wordOf({ singular }: KindDefinition): string {
  return singular.replace('app', '');
}

/** The spec of the scenario `<kind>-minimal`, as the user wrote it. */
export function minimalSpec(definition: KindDefinition): Readonly<Record<string, unknown>> {
  const manifest = parse(read(`${wordOf(definition)}-minimal`, 'cr.yaml')) as {
    readonly spec: Readonly<Record<string, unknown>>;
  };
  return manifest.spec;
}

/** The fields that the README of the scenario `<kind>-everything` lists below a heading, sorted. */
export function listedFields(definition: KindDefinition, heading: string): readonly string[] {
  const [, section = ''] = read(`${wordOf(definition)}-everything`, 'README.md').split(
    `\n## ${heading}\n`,
  );
  const [own = ''] = section.split('\n## ');
  return [...own.matchAll(/^- `(spec[^`]+)`/gm)].map(([, field = '']) => field).sort();
}

export function titleOf(name: string): string {
  return /^# (.*)/.exec(read(name, 'README.md'))?.[1] ?? '';
}

export function read(name: string, file: string): string {
  return readFileSync(`${SCENARIOS}${name}/${file}`, 'utf8');
}

function readYaml(name: string, file: string): unknown {
  return existsSync(`${SCENARIOS}${name}/${file}`) ? parse(read(name, file)) : undefined;
}

function plain(document: { toJS(): unknown }): KubeObject {
  return document.toJS() as KubeObject;
}

/** What the API server stores when a user applies a manifest in namespace `default`. */
function admitted(written: KubeObject, deleting: boolean, at: number): Admission {
  const definition = DEFINITIONS.find(({ kind }) => kind === written.kind);
  if (!definition) throw new Error(`${written.kind} is none of our kinds`);
  const admission = admit(definition, written);
  const metadata = {
    namespace: 'default',
    uid: `00000000-0000-0000-0000-00000000000${at + 1}`,
    generation: 1,
    creationTimestamp: NOW,
    ...(deleting ? { deletionTimestamp: NOW } : {}),
    ...admission.object.metadata,
  };
  return { ...admission, object: { ...admission.object, metadata } };
}

function clusterObject(object: KubeObject, at: number): KubeObject {
  if (DEFINITIONS.some(({ kind }) => kind === object.kind)) {
    const { object: stored, problems } = admitted(object, false, 10 + at);
    if (problems.length > 0)
      throw new Error(`${object.metadata.name}: ${JSON.stringify(problems)}`);
    return stored;
  }
  return { ...object, metadata: { namespace: 'default', ...object.metadata } };
}
