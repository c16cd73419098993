import type { Client } from './client.js';

/** A user, as the API server authenticated it. */
export interface UserInfo {
  readonly username?: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

interface SubjectAccessReview {
  readonly status?: { readonly allowed?: boolean };
}

/**
 * Asks the API server whether a user has a permission.
 * @param spec the spec of a `SubjectAccessReview`
 */
export async function isAllowed(
  client: Pick<Client, 'request'>,
  spec: object,
  timeoutMs: number,
): Promise<boolean> {
  const { status } = await client.request<SubjectAccessReview>(
    'POST',
    '/apis/authorization.k8s.io/v1/subjectaccessreviews',
    {
      timeoutMs,
      body: { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec },
    },
  );
  return status?.allowed === true;
}
