import { evaluateConfiguration } from '../../configuration/evaluate.js';
import { isSupported, untested } from '../../frappe/image.js';
import { resolveApps } from '../../frappe/apps.js';
import { effectiveIds } from '../../frappe/security.js';
import { creationFailure, mergeStatus, type StatusPart } from '../../frappe/tree-status.js';
import { fieldsIgnored } from '../../frappe/without-effect.js';
import type { ConditionResult } from '../../kit/condition.js';
import type { StatusResult, Observation } from '../../kit/kind.js';
import { digestCondition, imageFields, observedImage, type ObservedImage } from './image.js';
import { benchNames } from '../../kit/names.js';
import type { AppBench } from '../../api/bench.js';
import { assetsOf, printingCondition } from './assets.js';
import { evaluateBenchPhase } from './phase.js';
import { databaseCondition } from './database-failure.js';
import type { BenchInputs } from './resolve.js';
import { evaluateScaling } from './workloads.js';
import { fieldsWithoutEffect } from './without-effect.js';
import { upgradeCondition, upgradeStatus } from './upgrade.js';

/** The status of a bench: its phase, and what each part adds, in the order of the conditions. */
export function evaluateBench(observation: Observation<AppBench, BenchInputs>): StatusResult {
  const { inputs, resource } = observation;
  const image = observedImage(observation);
  return mergeStatus(evaluateBenchPhase(observation), [
    { fields: benchFields(observation) },
    { conditions: versionCondition(resource) },
    { conditions: fieldsIgnored(fieldsWithoutEffect(resource)) },
    creationFailure(
      observation,
      benchNames(resource.metadata.name).init,
      resource.status?.appliedHash,
    ),
    evaluateScaling(observation),
    { conditions: databaseCondition(inputs.data.databaseFailure) },
    { conditions: metricsCondition(observation) },
    evaluateAssets(observation, image),
    evaluateConfiguration(observation, inputs.configuration),
    evaluateUpgrade(observation, image),
  ]);
}

/** What the spec and the sites say, and what is recorded of work where no part says that it was done. */
function benchFields({ inputs, resource }: Observation<AppBench, BenchInputs>) {
  const { model, sites } = inputs;
  return {
    siteConfig: undefined,
    ids: resource.status?.ids ?? effectiveIds(model.security),
    assets: undefined,
    image: undefined,
    previousImage: undefined,
    imageDigest: undefined,
    upgrade: undefined,
    apps: model.apps,
    ignoredApps: resolveApps(resource).ignored,
    sites: sites.count,
  };
}

/** Where the image has its assets, and whether it prints. */
function evaluateAssets(
  observation: Observation<AppBench, BenchInputs>,
  { reference }: ObservedImage,
): StatusPart {
  const assets = assetsOf(observation, reference);
  const known = observation.inputs.model.assetsInSites;
  return {
    conditions: printingCondition(assets),
    fields: { assets },
    reconcileAgain: (assets?.inSites ?? []).join() !== known.join(),
  };
}

/** The image of the bench's own pods, and the upgrade of its sites. */
function evaluateUpgrade(
  observation: Observation<AppBench, BenchInputs>,
  image: ObservedImage,
): StatusPart {
  const { upgrade, awaitsDigest } = observation.inputs;
  const { prepared, digest } = image;
  const isOpen = upgrade !== undefined && upgrade.done < upgrade.all;
  return {
    conditions: [
      ...digestCondition(image),
      ...(isOpen ? [upgradeCondition(upgrade, prepared)] : []),
    ],
    fields: {
      ...imageFields(observation, image),
      imageDigest: digest,
      upgrade: upgrade && upgradeStatus(upgrade, prepared),
    },
    reconcileAgain: awaitsDigest && digest?.init === observation.inputs.init,
  };
}

/** Only a failure is reported, not an exporter that starts. */
function metricsCondition({
  resource,
  child,
}: Observation<AppBench, BenchInputs>): readonly ConditionResult[] {
  const { metrics } = benchNames(resource.metadata.name);
  const health = child('Deployment', metrics)?.health;
  if (!resource.spec.metrics.enabled || health?.state !== 'Failed') return [];
  const message = `Deployment ${metrics}: ${health.message}`;
  return [{ type: 'Metrics', status: 'False', reason: 'ExporterFailed', message }];
}

function versionCondition({ spec }: AppBench): readonly ConditionResult[] {
  if (isSupported(spec.frameworkVersion)) return [];
  return [
    {
      type: 'Supported',
      status: 'False',
      reason: 'UntestedVersion',
      message: `spec.frameworkVersion: ${untested(spec.frameworkVersion)}`,
    },
  ];
}
