import { isObject } from '../../constructs/kit/json/is-object.js';
import type { Problem } from '../../constructs/kit/errors.js';
import type { KubeObject } from '../../constructs/kit/object.js';

const REVIEW_VERSION = 'admission.k8s.io/v1';

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
  if (!isObject(review) || review['kind'] !== 'AdmissionReview') {
    throw new BadReview('body: not an AdmissionReview');
  }
  if (review['apiVersion'] !== REVIEW_VERSION) {
    throw new BadReview(`AdmissionReview: unsupported version; expected ${REVIEW_VERSION}`);
  }
  const { request } = review;
  if (!isObject(request)) throw new BadReview('AdmissionReview: no request');
  if (!isComplete(request)) throw new BadReview('AdmissionReview: incomplete request');
  return request as unknown as AdmissionRequest;
}

/** The API server's reasons. */
const WORDS = { status: 'Invalid', cause: 'FieldValueInvalid' } as const;

/** What a response says at most: a problem quotes the value, which may be long. */
const ANSWER = { problems: 10, path: 256, message: 1024, name: 253 } as const;

/**
 * A refusal as a `metav1.Status`. Clients show its causes like those of a schema. It has the first
 * problems, and how many more there are.
 */
export function refusal(
  object: { readonly group: string; readonly kind: string; readonly name: string },
  problems: readonly Problem[],
): object {
  const shown = problems.slice(0, ANSWER.problems).map(({ path, message }) => ({
    path: shortened(path, ANSWER.path),
    message: shortened(message, ANSWER.message),
  }));
  const more = problems.length - shown.length;
  const lines = shown.map(({ path, message }) => `${path}: ${message}`);
  return {
    apiVersion: 'v1',
    kind: 'Status',
    status: 'Failure',
    code: 422,
    reason: WORDS.status,
    message: [...lines, ...(more > 0 ? [`and ${more} more problems`] : [])].join('; '),
    details: {
      ...object,
      name: shortened(object.name, ANSWER.name),
      causes: shown.map(({ path: field, message }) => ({ reason: WORDS.cause, field, message })),
    },
  };
}

/** A text of at most this length. */
export function shortened(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

/** The body of an HTTP response. */
export function reviewOf(response: AdmissionResponse): string {
  return JSON.stringify({ apiVersion: REVIEW_VERSION, kind: 'AdmissionReview', response });
}

/** The response repeats it. */
const LONGEST_UID = 256;

function isComplete({ uid, kind, operation, object, oldObject }: Record<string, unknown>): boolean {
  const hasType = isObject(kind) && isText(kind['group']) && isText(kind['kind']);
  return (
    isText(uid) &&
    uid.length <= LONGEST_UID &&
    hasType &&
    isText(operation) &&
    hasMetadata(object, operation === 'CREATE' || operation === 'UPDATE') &&
    hasMetadata(oldObject, false)
  );
}

function hasMetadata(value: unknown, needed: boolean): boolean {
  if (value === undefined || value === null) return !needed;
  return isObject(value) && isObject(value['metadata']);
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}
