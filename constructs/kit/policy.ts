/** One case of a decision. In a list of policies the first that applies decides. */
export interface Policy<C, R> {
  applies(context: C): boolean;
  result(context: C): R;
}

/**
 * The result of the first policy that applies.
 * @throws where none does: the last policy of a list applies always
 */
export function decide<C, R>(policies: readonly Policy<C, R>[], context: C): R {
  const policy = policies.find((one) => one.applies(context));
  if (!policy) throw new Error('no policy applies');
  return policy.result(context);
}
