import { admit } from '../../constructs/kit/schema/admit.js';
import type { KubeObject, Resource } from '../../constructs/kit/object.js';
import { StaticReader } from '../../constructs/kit/static-reader.js';
import { synthesize } from '../../constructs/kit/synth.js';
import { bench as benchKind } from '../../constructs/kinds/bench/index.js';
import { site as siteKind } from '../../constructs/kinds/site/index.js';
import type { AppSite } from '../../constructs/api/site.js';

const API = 'app-operator.io/v1alpha1';

export const BENCH_NAME = 'bench';

export function aBench(namespace: string): KubeObject {
  return {
    apiVersion: API,
    kind: 'AppBench',
    metadata: { name: BENCH_NAME, namespace },
    spec: { frameworkVersion: 'version-15', appsJSON: '["erpnext"]' },
  } as KubeObject;
}

export function siteName(index: number): string {
  return `site-${String(index).padStart(4, '0')}`;
}

export function aSite(namespace: string, index: number): KubeObject {
  return {
    apiVersion: API,
    kind: 'AppSite',
    metadata: { name: siteName(index), namespace },
    spec: { benchRef: { name: BENCH_NAME }, siteName: `${siteName(index)}.example.com` },
  } as KubeObject;
}

/**
 * The objects that the operator makes of a site, for the bare loop. Generated Secrets get a value.
 */
export function siteObjects(namespace: string, index: number): readonly KubeObject[] {
  const bench = {
    ...admit(benchKind.definition, aBench(namespace)).object,
    status: { ready: true },
  };
  const site = admit(siteKind.definition, aSite(namespace, index)).object as AppSite;
  const reader = new StaticReader({ objects: [bench, site] });
  return synthesizeSite(site, reader).map((object) =>
    object.kind === 'Secret'
      ? { ...object, stringData: { password: 'floor', key: 'floor' } }
      : object,
  );
}

function synthesizeSite(site: Resource, reader: StaticReader): readonly KubeObject[] {
  const resource = site as AppSite;
  const inputs = siteKind.resolve(resource, reader);
  return synthesize((scope, id) => siteKind.chart(scope, id, { resource, inputs })).flatMap(
    (stage) => stage.objects,
  );
}

/** Milliseconds to resolve and synthesize one site, with a warm JIT. */
export function synthTime(rounds = 300): number {
  const bench = {
    ...admit(benchKind.definition, aBench('default')).object,
    status: { ready: true },
  };
  const site = admit(siteKind.definition, aSite('default', 0)).object;
  const reader = new StaticReader({ objects: [bench, site] });
  for (let round = 0; round < rounds; round++) synthesizeSite(site, reader);
  const start = performance.now();
  for (let round = 0; round < rounds; round++) synthesizeSite(site, reader);
  return (performance.now() - start) / rounds;
}
