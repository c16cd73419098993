import { Construct } from 'constructs';

export interface StageProps {
  /**
   * Whether later stages wait until everything in this one is ready.
   * @default false: they wait until it is applied
   */
  readonly waitForReady?: boolean;
  /**
   * Why nothing in this stage may be created or changed for now, in words for the user.
   * @default nothing holds it
   */
  readonly blocked?: string | undefined;
}

/**
 * A step in the order in which the children of a resource come to be. The stages of a chart are
 * applied in the order in which they were constructed. They say nothing about what is synthesized:
 * that is always the complete graph.
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
