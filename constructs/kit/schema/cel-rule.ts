import { messageOf } from '../errors.js';
import { Environment, Optional } from '@marcbachmann/cel-js';
import { withQuantities } from './quantity.js';
import type { RuleAt } from './root.js';

/** A CEL rule, ready to run. */
export interface Rule {
  /**
   * Path of the field that a violation is reported at, from the rule's node: `.metadata.name` or
   * ''.
   */
  readonly at: string;
  /** Whether the rule speaks about a change: it is skipped where there was no value before. */
  readonly transition: boolean;
  /** What is wrong, or undefined where the rule holds. `old` counts only for a transition rule. */
  violation(self: unknown, old: unknown): string | undefined;
}

const environment = withQuantities(new Environment({ enableOptionalTypes: true }))
  .registerVariable('self', 'dyn')
  .registerVariable('oldSelf', 'dyn');

/** Compiles a rule. A syntax error throws: rules are ours, not the user's. */
export function compileRule({ rule, message, optionalOldSelf, fieldPath }: RuleAt): Rule {
  const run = environment.parse(rule);
  const readsOld = /\boldSelf\b/.test(rule);
  return {
    at: fieldPath ?? '',
    transition: readsOld && !optionalOldSelf,
    violation(self, old) {
      const oldSelf = optionalOldSelf ? Optional.of(old) : old;
      try {
        return run(readsOld ? { self, oldSelf } : { self }) === true ? undefined : message;
      } catch (error) {
        return `${reason(error)} evaluating rule: ${message}`;
      }
    },
  };
}

/** The evaluator's complaint, as the API server words it: `no such key: mode`. */
function reason(error: unknown): string {
  const [line = ''] = messageOf(error).split('\n');
  return line.charAt(0).toLowerCase() + line.slice(1);
}
