import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { healthOf, type StatusCondition } from '../../constructs/kit/health.js';
import type { ObjectKind } from '../../constructs/kit/object-kind.js';

/** An object in one situation, and the health that it has. */
export type HealthCase = readonly [
  situation: string,
  object: { readonly metadata?: object; readonly spec?: object; readonly status?: object },
  state: string,
  message: string,
];

export const condition = (
  type: string,
  status: string,
  reason?: string,
  message?: string,
): StatusCondition => ({
  type,
  status,
  ...(reason === undefined ? {} : { reason }),
  ...(message === undefined ? {} : { message }),
});

/** An object with these conditions. */
export const withConditions = (...conditions: StatusCondition[]) => ({ status: { conditions } });

/** Tests the health of objects of a kind. */
export function healthCases(
  { kind, health: rule }: Pick<ObjectKind, 'kind' | 'health'>,
  cases: readonly HealthCase[],
): void {
  suite(`a ${kind}`, () => {
    for (const [situation, rest, state, message] of cases) {
      test(`${situation}: ${state}`, () => {
        const health = healthOf({ kind, metadata: { generation: 1 }, ...rest }, rule);
        assert.deepEqual({ state: health.state, message: health.message }, { state, message });
      });
    }
  });
}
