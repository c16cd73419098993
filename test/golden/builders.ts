import type { AppBench } from '../../constructs/api/bench.js';
import { admit } from '../../constructs/kit/schema/admit.js';
import type { KubeObject, Resource } from '../../constructs/kit/object.js';
import type { ObjectKind } from '../../constructs/kit/object-kind.js';
import { ScaledObject, TriggerAuthentication } from '../../constructs/integrations/keda/kinds.js';
import { kindId } from '../../constructs/kit/object-kind.js';
import { DEFAULT_SETTINGS, type Settings } from '../../constructs/kit/operator-settings.js';
import { StaticReader } from '../../constructs/kit/static-reader.js';
import { KINDS } from '../../constructs/registry.js';
import type { AppSite } from '../../constructs/api/site.js';
import { NOW } from './scenario.js';

type Fields = Readonly<Record<string, unknown>>;

/** What a cluster with KEDA serves. */
export const KEDA: readonly ObjectKind[] = [ScaledObject, TriggerAuthentication];

/** A bench as the API server stores it: `demo-bench` on version-15 by default. */
export function aBench(spec: Fields = {}, metadata: Fields = {}): AppBench {
  return stored(
    'AppBench',
    { name: 'demo-bench', ...metadata },
    {
      frameworkVersion: 'version-15',
      ...spec,
    },
  ) as AppBench;
}

/** A bench that sites may build on. */
export function aReadyBench(spec: Fields = {}, metadata: Fields = {}): AppBench {
  return { ...aBench(spec, metadata), status: { ready: true, observedGeneration: 1 } };
}

/** A site as the API server stores it: `demo-site` on `demo-bench` by default. */
export function aSite(spec: Fields = {}, metadata: Fields = {}): AppSite {
  return stored(
    'AppSite',
    { name: 'demo-site', ...metadata },
    {
      benchRef: { name: 'demo-bench' },
      siteName: 'demo.example.com',
      ...spec,
    },
  ) as AppSite;
}

export function aSecret(name: string): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace: 'default', uid: 'u', resourceVersion: '1' },
  };
}

/** A server of a database operator. */
export function aServer(kind: ObjectKind, name: string, spec: Fields = {}): Resource {
  return {
    apiVersion: kind.apiVersion,
    kind: kind.kind,
    metadata: { name, namespace: 'default', uid: 'u' },
    spec,
  };
}

/** A cluster with these objects and these optional APIs. */
export function aReader(
  objects: readonly KubeObject[],
  {
    serves = [],
    settings = {},
  }: { serves?: readonly ObjectKind[]; settings?: Partial<Settings> } = {},
): StaticReader {
  return new StaticReader({
    objects,
    serves: serves.map(kindId),
    settings: { ...DEFAULT_SETTINGS, ...settings },
  });
}

/** Admits an object; what the schema refuses is an error of the test. */
export function stored(kind: string, metadata: Fields, spec: Fields): Resource {
  const definition = KINDS.map((known) => known.definition).find((known) => known.kind === kind);
  if (!definition) throw new Error(`${kind} has no controller`);
  const { object, problems } = admit(definition, {
    apiVersion: 'app-operator.io/v1alpha1',
    kind,
    metadata: {
      namespace: 'default',
      uid: 'u',
      generation: 1,
      creationTimestamp: NOW,
      ...metadata,
    },
    spec,
  });
  if (problems.length > 0) throw new Error(JSON.stringify(problems));
  return object;
}
