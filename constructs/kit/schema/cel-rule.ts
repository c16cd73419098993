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
  /** Whether it speaks about a change or a creation: what is stored already is none. */
  readonly ofChange: boolean;
  /** What is wrong, or undefined where the rule holds. `old` counts only for a transition rule. */
  violation(self: unknown, old: unknown): string | undefined;
}

const environment = withQuantities(new Environment({ enableOptionalTypes: true }))
  .registerVariable('self', 'dyn')
  .registerVariable('oldSelf', 'dyn');

/** Compiles a rule. A syntax error throws: rules are ours, not the user's. */
export function compileRule(declared: RuleAt): Rule {
  const { rule, message, messageExpression, optionalOldSelf, fieldPath } = declared;
  const run = environment.parse(rule);
  const explain =
    messageExpression === undefined ? undefined : environment.parse(messageExpression);
  const readsOld = /\boldSelf\b/.test(rule);
  return {
    at: fieldPath ?? '',
    transition: readsOld && !optionalOldSelf,
    ofChange: readsOld,
    violation(self, old) {
      const oldSelf = optionalOldSelf ? Optional.of(old) : old;
      try {
        if (run(readsOld ? { self, oldSelf } : { self }) === true) return undefined;
        return explained(explain, { self, oldSelf }) ?? message;
      } catch (error) {
        return `${reason(error)} evaluating rule: ${message}`;
      }
    },
  };
}

/** The message with its values; undefined where the expression gives none. */
function explained(
  run: ReturnType<typeof environment.parse> | undefined,
  values: Readonly<Record<string, unknown>>,
): string | undefined {
  try {
    const message: unknown = run?.({ ...values });
    return typeof message === 'string' && message.trim() !== '' ? message : undefined;
  } catch {
    return undefined;
  }
}

/** The evaluator's complaint, as the API server words it: `no such key: mode`. */
function reason(error: unknown): string {
  const [line = ''] = messageOf(error).split('\n');
  return line.charAt(0).toLowerCase() + line.slice(1);
}
