import { ApiObject, App, type Chart } from 'cdk8s';
import { Construct } from 'constructs';
import type { KubeObject } from './object.js';

export interface StageProps {
  /**
   * Whether later stages wait until everything in this one is ready.
   * @default false: they wait until it is applied
   */
  readonly waitForReady?: boolean;
  /**
   * Why nothing in this stage may be created or changed now: a message for the user.
   * @default the stage is not blocked
   */
  readonly blocked?: string | undefined;
}

/**
 * A step in the order in which the children of a resource are created. The stages of a chart are
 * applied in the order in which they were constructed. They do not change what is synthesized, which
 * is always the complete graph.
 */
export class Stage extends Construct {
  readonly waitForReady: boolean;
  readonly blockedReason: string | undefined;

  constructor(scope: Construct, id: string, props: StageProps = {}) {
    super(scope, id);
    this.waitForReady = props.waitForReady ?? false;
    this.blockedReason = props.blocked;
  }

  /** The stage that a construct belongs to; undefined outside of all stages. */
  static of(construct: Construct): Stage | undefined {
    return construct.node.scopes.findLast((scope) => scope instanceof Stage);
  }
}

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
