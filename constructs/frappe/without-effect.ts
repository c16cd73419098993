import type { ConditionResult } from '../kit/condition.js';
import type { Problem } from '../kit/errors.js';

/** The condition that names fields of the spec without effect; none where all have one. */
export function fieldsIgnored(problems: readonly Problem[]): readonly ConditionResult[] {
  if (problems.length === 0) return [];
  const message = problems.map(({ path, message: why }) => `${path}: ${why}`).join('; ');
  return [{ type: 'FieldsIgnored', status: 'True', reason: 'WithoutEffect', message }];
}
