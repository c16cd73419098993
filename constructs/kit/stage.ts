import { Construct } from 'constructs';

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
