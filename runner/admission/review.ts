import type { Problem } from '../../constructs/kit/errors.js';
import type { KubeObject } from '../../constructs/kit/object.js';

export const REVIEW_VERSION = 'admission.k8s.io/v1';

/** What the API server asks, as far as it is read here. */
export interface AdmissionRequest {
  readonly uid: string;
  readonly kind: { readonly group: string; readonly version: string; readonly kind: string };
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT';
  readonly subResource?: string;
  readonly name?: string;
  readonly namespace?: string;
  /** null in a deletion. */
  readonly object?: KubeObject | null;
  /** null in a creation. */
  readonly oldObject?: KubeObject | null;
}

/** What is answered. */
export interface AdmissionResponse {
  readonly uid: string;
  readonly allowed: boolean;
  readonly warnings?: readonly string[];
  readonly patchType?: 'JSONPatch';
  /** A JSON patch in base64. */
  readonly patch?: string;
  /** Why not: a `metav1.Status`. */
  readonly status?: object;
}

/** A body that is no AdmissionReview. Its message quotes nothing of it. */
export class BadReview extends Error {
  override readonly name = 'BadReview';
}

/** @throws BadReview */
export function requestOf(body: string): AdmissionRequest {
  let review: unknown;
  try {
    review = JSON.parse(body);
  } catch {
    throw new BadReview('the body is no JSON');
  }
  if (!isRecord(review) || review['kind'] !== 'AdmissionReview') {
    throw new BadReview('the body is no AdmissionReview');
  }
  if (review['apiVersion'] !== REVIEW_VERSION) {
    throw new BadReview(`the AdmissionReview is not of version ${REVIEW_VERSION}`);
  }
  const { request } = review;
  if (!isRecord(request)) throw new BadReview('the AdmissionReview has no request');
  const { uid, kind, operation, object, oldObject } = request;
  const sound =
    isText(uid) &&
    isRecord(kind) &&
    isText(kind['group']) &&
    isText(kind['kind']) &&
    isText(operation) &&
    isObject(object, operation === 'CREATE' || operation === 'UPDATE') &&
    isObject(oldObject, operation === 'UPDATE' || operation === 'DELETE');
  if (!sound) throw new BadReview('the request is not complete');
  return request as unknown as AdmissionRequest;
}

/** The API server's words for what does not fit. */
const WORDS = { status: 'Invalid', cause: 'FieldValueInvalid' } as const;

/** Why an object is refused, as a `metav1.Status`. By its causes, clients show it as they show what a schema refuses. */
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

/** The answer as the body of a reply. */
export function reviewOf(response: AdmissionResponse): string {
  return JSON.stringify({ apiVersion: REVIEW_VERSION, kind: 'AdmissionReview', response });
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
