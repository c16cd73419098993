import { ApiObject, App, type Chart } from 'cdk8s';
import type { Construct } from 'constructs';
import type { KubeObject } from './object.js';
import { Stage } from './stage.js';

/** The objects of one stage, as plain data, in the order of the tree. */
export interface SynthStage {
  readonly name: string;
  readonly waitForReady: boolean;
  readonly blockedReason: string | undefined;
  readonly objects: readonly KubeObject[];
}

/**
 * Synthesizes one chart in memory. Each chart has its own App: one that fails must not fail others.
 * Nothing is written to disk.
 */
export function synthesize<C extends Chart | undefined>(
  build: (scope: Construct, id: string) => C,
): readonly SynthStage[] {
  const chart = build(new App(), 'resource');
  if (!chart) return [];
  const stages = new Map<Stage | undefined, KubeObject[]>();
  // Constructs keep the order of their construction.
  for (const construct of chart.node.findAll()) {
    if (!(construct instanceof ApiObject)) continue;
    const stage = Stage.of(construct);
    const objects = stages.get(stage) ?? [];
    objects.push(construct.toJson() as KubeObject);
    stages.set(stage, objects);
  }
  return [...stages].map(([stage, objects]) => ({
    name: stage?.node.id ?? '',
    waitForReady: stage?.waitForReady ?? false,
    blockedReason: stage?.blockedReason,
    objects,
  }));
}
