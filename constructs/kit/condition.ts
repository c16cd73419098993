/** One observation of an object's state, by the Kubernetes API conventions. */
export interface Condition {
  /** Type of the condition, in CamelCase.
   * @maxLength 316 */
  readonly type: string;
  /** Whether the condition holds. */
  readonly status: 'True' | 'False' | 'Unknown';
  /** The generation of the object that the condition speaks about.
   * @minimum 0
   * @type integer
   * @format int64 */
  readonly observedGeneration?: number;
  /** When the status last changed.
   * @format date-time */
  readonly lastTransitionTime: string;
  /** Why, in one CamelCase word.
   * @minLength 1
   * @maxLength 1024 */
  readonly reason: string;
  /** Why, for people.
   * @maxLength 32768 */
  readonly message: string;
}

/** A condition as a kind decides it; the runner adds times and generations. */
export type ConditionResult = Pick<Condition, 'type' | 'status' | 'reason' | 'message'>;

/** A condition result, with its fields in the order in which the API documents them. */
export function conditionResult(
  type: string,
  status: Condition['status'],
  reason: string,
  message: string,
): ConditionResult {
  return { type, status, reason, message };
}

/** Status fields that every kind has. */
export interface CommonStatus {
  /** The generation of the spec that this status speaks about.
   * @minimum 0
   * @type integer
   * @format int64 */
  readonly observedGeneration?: number;
  /** Observations: `Ready`, `Reconciling` (only while working), `Stalled` (only when the user must act), and the kind's own.
   * @listType map
   * @listMapKey type
   * @maxItems 32 */
  readonly conditions?: readonly Condition[];
  /** Digest of the children as they were when all of them had been applied. An operator that starts compares it, and writes nothing where it is the same.
   * @maxLength 64 */
  readonly appliedHash?: string;
}
