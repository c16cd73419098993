import { Stalled } from '../../constructs/kit/errors.js';
import { type ApiError, isForbidden, isNotFound } from '../api/api-error.js';
import type { PlannedChild } from '../plan/plan.js';

/** Whether a CRD does not exist or is being deleted: its objects are deleted first, none can be created. */
export function isApiGone(error: unknown): boolean {
  return (
    isNotFound(error) || (isForbidden(error) && String(error).includes('definition is terminating'))
  );
}

export function refused(planned: PlannedChild, error: unknown): Stalled {
  const { details, message } = error as ApiError;
  const causes = details.causes?.map(({ field, message: text }) =>
    [field, firstLine(text ?? '')].filter(Boolean).join(': '),
  );
  const why = causes && causes.length > 0 ? causes.join('; ') : firstLine(message);
  return new Stalled(
    'ApplyRefused',
    `the API server refuses ${planned.kind.kind} ${planned.name}: ${why}`,
    300_000,
  );
}

/** Some refusals continue with a difference of many lines. */
function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? '';
}
