import type { Problem } from '../../constructs/kit/errors.js';
import type { KubeObject } from '../../constructs/kit/object.js';

export const REVIEW_VERSION = 'admission.k8s.io/v1';

/** The request of an AdmissionReview, as far as it is read here. */
export interface AdmissionRequest {
  readonly uid: string;
  readonly kind: { readonly group: string; readonly version: string; readonly kind: string };
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT';
  readonly subResource?: string;
  readonly name?: string;
  readonly namespace?: string;
  /** null for a delete. */
  readonly object?: KubeObject | null;
  /** null for a create. */
  readonly oldObject?: KubeObject | null;
}

/** The response of an AdmissionReview. */
export interface AdmissionResponse {
  readonly uid: string;
  readonly allowed: boolean;
  readonly warnings?: readonly string[];
  readonly patchType?: 'JSONPatch';
  /** A JSON patch in base64. */
  readonly patch?: string;
  /** The error: a `metav1.Status`. */
  readonly status?: object;
}

/** A body that is not an AdmissionReview. The message does not quote it. */
export class BadReview extends Error {
  override readonly name = 'BadReview';
}

/** @throws BadReview */
export function requestOf(body: string): AdmissionRequest {
  let review: unknown;
  try {
    review = JSON.parse(body);
  } catch {
    throw new BadReview('body: not JSON');
  }
  if (!isRecord(review) || review['kind'] !== 'AdmissionReview') {
    throw new BadReview('body: not an AdmissionReview');
  }
  if (review['apiVersion'] !== REVIEW_VERSION) {
    throw new BadReview(`AdmissionReview: unsupported version; expected ${REVIEW_VERSION}`);
  }
  const { request } = review;
  if (!isRecord(request)) throw new BadReview('AdmissionReview: no request');
  if (!isComplete(request)) throw new BadReview('AdmissionReview: incomplete request');
  return request as unknown as AdmissionRequest;
}

/** The API server's reasons for an invalid object. */
const WORDS = { status: 'Invalid', cause: 'FieldValueInvalid' } as const;

/** A refusal as a `metav1.Status`. Clients show its causes like those of a schema. */
export function refusal(
  object: { readonly group: string; readonly kind: string; readonly name: string },
  problems: readonly Problem[],
): object {
  return {
    apiVersion: 'v1',
    kind: 'Status',
    status: 'Failure',
    code: 422,
    reason: WORDS.status,
    message: problems.map(({ path, message }) => `${path}: ${message}`).join('; '),
    details: {
      ...object,
      causes: problems.map(({ path: field, message }) => ({ reason: WORDS.cause, field, message })),
    },
  };
}

/** The body of an HTTP response. */
export function reviewOf(response: AdmissionResponse): string {
  return JSON.stringify({ apiVersion: REVIEW_VERSION, kind: 'AdmissionReview', response });
}

function isComplete({ uid, kind, operation, object, oldObject }: Record<string, unknown>): boolean {
  const hasType = isRecord(kind) && isText(kind['group']) && isText(kind['kind']);
  return (
    isText(uid) &&
    hasType &&
    isText(operation) &&
    isObject(object, operation === 'CREATE' || operation === 'UPDATE') &&
    isObject(oldObject, operation === 'UPDATE' || operation === 'DELETE')
  );
}

function isObject(value: unknown, needed: boolean): boolean {
  if (value === undefined || value === null) return !needed;
  return isRecord(value) && isRecord(value['metadata']);
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
