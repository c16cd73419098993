/**
 * A kind that the product does not have, with its whole code in this folder. `ninth-kind.test.ts`
 * registers it and shows that nothing else must know it.
 */
import { ApiObject, Chart } from 'cdk8s';
import type { Construct } from 'constructs';

import { Stalled, Waiting } from '../../constructs/kit/errors.js';
import type {
  ChartProps,
  ClusterReader,
  Index,
  Kind,
  Observation,
  StatusResult,
} from '../../constructs/kit/kind.js';
import { childLabels } from '../../constructs/kit/labels.js';
import { keyOf, type KubeObject, type Resource } from '../../constructs/kit/object.js';
import { ConfigMap } from '../../constructs/kit/object-kind.js';
import type { Reasons } from '../../constructs/kit/reasons.js';
import { Stage } from '../../constructs/kit/synth.js';
import type { AnyKind } from '../../constructs/registry.js';
import { siteBanner } from './definition.js';

type SiteBanner = Resource<
  { readonly siteRef: { readonly name: string }; readonly text: string; readonly colour: string },
  { readonly shownText?: string }
>;

/** Nothing else gives these reasons: admission and events know them by their classes only. */
export const bannerReasons = {
  Shown: 'success',
  Publishing: 'progress',
  BannerTaken: 'conflict',
  BannerSiteMissing: 'missing',
  BannerPinned: 'waiting',
} as const satisfies Reasons;

const bannersOfSite: Index<SiteBanner> = {
  name: 'bannersOfSite',
  kind: siteBanner.kind,
  values: ({ metadata, spec }) => [keyOf(metadata.namespace, spec.siteRef.name)],
};

const kind: Kind<SiteBanner, { readonly site: string }> = {
  definition: siteBanner,
  owns: [ConfigMap],
  reads: [],
  references: [{ field: 'siteRef', kind: 'AppSite', label: 'site' }],
  reasons: bannerReasons,
  durableStatus: ['shownText'],
  indexes: [bannersOfSite],
  resolve: resolveBanner,
  chart: (scope, id, props) => new BannerChart(scope, id, props),
  probes: () => [],
  evaluate: evaluateBanner,
  cleanup: {
    needed: () => true,
    blockers({ metadata }) {
      if (metadata.annotations?.['pinned'] !== 'true') return;
      throw new Waiting('BannerPinned', 'remove the annotation pinned');
    },
    chart: () => undefined,
  },
};

/** The list of a product with one more kind. */
export const ninthKind = kind as unknown as AnyKind;

function resolveBanner(resource: SiteBanner, reader: ClusterReader): { readonly site: string } {
  const { metadata, spec } = resource;
  const { namespace = 'default', name } = metadata;
  const site = spec.siteRef.name;
  const others = reader.list(bannersOfSite, keyOf(namespace, site), ownerOf);
  const older = others.find(
    (other) => other.name !== name && (metadata.creationTimestamp ?? '~') > (other.created ?? '~'),
  );
  if (older) {
    const message = `spec.siteRef.name: site ${site} has SiteBanner ${older.name} already`;
    throw new Stalled('BannerTaken', message);
  }
  if (reader.get('AppSite', namespace, site, nameOf) === undefined) {
    const message = `spec.siteRef.name: there is no AppSite "${site}" in namespace ${namespace}`;
    throw new Waiting('BannerSiteMissing', message);
  }
  return { site };
}

function nameOf({ metadata }: KubeObject): string {
  return metadata.name;
}

function ownerOf({ metadata }: KubeObject) {
  return { name: metadata.name, created: metadata.creationTimestamp };
}

class BannerChart extends Chart {
  constructor(scope: Construct, id: string, { resource }: ChartProps<SiteBanner, unknown>) {
    super(scope, id, { disableResourceNameHashes: true });
    const { metadata, spec } = resource;
    new ApiObject(new Stage(this, 'text'), 'text', {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: `${metadata.name}-banner`, labels: childLabels(resource, 'banner') },
      data: { text: spec.text, colour: spec.colour },
    });
  }
}

function evaluateBanner({ resource, ready }: Observation<SiteBanner, unknown>): StatusResult {
  const { text } = resource.spec;
  const condition = ready
    ? ({ status: 'True', reason: 'Shown', message: 'the site shows the banner' } as const)
    : ({ status: 'False', reason: 'Publishing', message: 'waiting for the ConfigMap' } as const);
  return {
    phase: ready ? 'Ready' : 'Publishing',
    ready: { type: 'Ready', ...condition },
    ...(ready ? { fields: { shownText: text } } : {}),
  };
}
