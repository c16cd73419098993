import { cutText } from '../kit/cut-text.js';
import { valuesOf, withoutParts } from './secret-parts.js';

/** The body of a failed call, as far as this project reads it (`metav1.Status`). */
export interface StatusBody {
  readonly code?: number;
  readonly reason?: string;
  readonly message?: string;
  readonly details?: StatusDetails;
}

export interface StatusDetails {
  readonly name?: string;
  readonly kind?: string;
  readonly causes?: readonly {
    readonly field?: string;
    readonly reason?: string;
    readonly message?: string;
  }[];
}

/** The API server quotes values that it refuses, at any length. */
const MAX_MESSAGE = 4 * 1024;
/** Of the causes in an error, so many are kept. */
const MAX_CAUSES = 100;
const MAX_CAUSE = 1024;

/**
 * The API server responded with an error. The message never quotes a secret or a token, and has at
 * most about 4 KiB.
 */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly details: StatusDetails & {
    /** From the header `Retry-After`. */
    readonly retryAfterMs?: number | undefined;
  };

  constructor(
    /** HTTP status code; for the last line of a watch, the code in it. */
    readonly status: number,
    /** `Status.reason`, such as `NotFound`; empty if the server gave none. */
    readonly reason: string,
    details: ApiError['details'],
    message: string,
  ) {
    super(cutText(message, MAX_MESSAGE));
    this.details = withShortCauses(details);
  }

  /** How long the server asks to wait before a retry, in milliseconds. */
  get retryAfterMs(): number | undefined {
    return this.details.retryAfterMs;
  }

  /**
   * The error for a response body that may be a `Status`, plain text or nothing.
   * @param created what was to be created
   */
  static of(
    call: string,
    status: number,
    body: string,
    { retryAfterMs, created }: { retryAfterMs?: number | undefined; created?: unknown } = {},
  ): ApiError {
    const parsed = { ...parseStatus(body), code: status };
    return ApiError.ofStatus(call, parsed, { retryAfterMs, created });
  }

  static ofStatus(
    call: string,
    body: StatusBody,
    { retryAfterMs, created }: { retryAfterMs?: number | undefined; created?: unknown } = {},
  ): ApiError {
    const status = body.code ?? 500;
    const reason = body.reason ?? '';
    const denial = denialIn(body.message ?? '');
    const withheld = quotesTheRequest(call, status, denial);
    const message = withheld ? messageWithout(body, denial, created) : (body.message ?? '');
    const details = withheld ? withoutMessages(body.details) : body.details;
    return new ApiError(
      status,
      reason,
      { ...details, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) },
      [`${call}: ${status}${reason && ` ${reason}`}`, message].filter(Boolean).join(': '),
    );
  }
}

/** No response: the connection failed, broke or timed out. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError';
  constructor(
    call: string,
    /** Such as `ECONNREFUSED`, `UND_ERR_SOCKET`, `Timeout`. */
    readonly code: string,
    cause?: unknown,
  ) {
    super(`${call}: ${code}`, cause === undefined ? undefined : { cause });
  }
}

/** The response is longer than its caller reads. */
export class ResponseTooLarge extends Error {
  override readonly name = 'ResponseTooLarge';
  constructor(call: string, maxBytes: number) {
    super(`${call}: response is longer than ${maxBytes} bytes`);
  }
}

const has = (error: unknown, status: number): error is ApiError =>
  error instanceof ApiError && error.status === status;

export const isUnauthorized = (error: unknown) => has(error, 401);
export const isForbidden = (error: unknown) => has(error, 403);
/** A ResourceQuota has no room for the object. */
export const isQuotaExceeded = (error: unknown) =>
  error instanceof ApiError &&
  isForbidden(error) &&
  error.message.includes(' is forbidden: exceeded quota: ');
/**
 * A webhook, a policy or an admission plugin of the cluster denies the request, with any status. A missing
 * permission is none of them.
 */
export const isAdmissionDenied = (error: unknown) =>
  error instanceof ApiError &&
  (DENIALS.some((denial) => denial.test(error.message)) ||
    (isForbidden(error) && / is forbidden: (?!User )/.test(error.message)));
/** The namespace is being deleted with all its objects: none can be created. */
export const isNamespaceTerminating = (error: unknown) =>
  isForbidden(error) &&
  error instanceof ApiError &&
  (error.details.causes?.some(({ reason }) => reason === 'NamespaceTerminating') ?? false);
export const isNotFound = (error: unknown) => has(error, 404);
/** A precondition or resourceVersion no longer holds, or the object already exists. */
export const isConflict = (error: unknown) => has(error, 409);
export const isAlreadyExists = (error: unknown) =>
  isConflict(error) && error.reason === 'AlreadyExists';
/** The stored object does not fit its schema, so nothing can be applied to it. */
export const isUntyped = (error: unknown) =>
  has(error, 500) && error.message.includes('failed to create typed live object');
/** The resourceVersion or the continue token is too old: list again. */
export const isGone = (error: unknown) =>
  has(error, 410) || (error instanceof ApiError && error.reason === 'Expired');
/** The API server refuses the object: by its schema, a rule, or a webhook. */
export const isInvalid = (error: unknown) =>
  has(error, 422) ||
  // Server-side apply responds so to an object that does not fit the schema; a retry cannot succeed.
  (has(error, 500) && error.message.includes('failed to create typed patch object'));

/** Statuses whose message the API server itself writes, without the request. */
const OWN_MESSAGE = [401, 403, 404, 405, 409, 410, 429];

/** Decoding and validation errors can quote the value that was sent, and so can any text of a webhook. */
function quotesTheRequest(call: string, status: number, denial: string): boolean {
  if (!/\/(secrets|tokenreviews)\b/.test(call)) return false;
  return denial !== '' || !OWN_MESSAGE.includes(status);
}

/** As the API server words a denial. What follows is the text of the webhook or the policy. */
const DENIALS = [
  /admission webhook "[\w.-]{1,253}" denied the request/,
  /ValidatingAdmissionPolicy '[\w.-]{1,253}' with binding '[\w.-]{1,253}' denied request/,
];
/** The webhook itself fails: it does not respond, or its response is invalid. */
const WEBHOOK_FAILURE = /failed calling webhook "[\w.-]{1,253}"/;

/** The part of a message that names a webhook or policy; empty without one. */
function denialIn(message: string): string {
  for (const pattern of [...DENIALS, WEBHOOK_FAILURE]) {
    const [denial] = pattern.exec(message) ?? [];
    if (denial !== undefined) return denial;
  }
  return '';
}

/** What may be shown of a message that may quote a secret: all but its values, where they are known. */
function messageWithout({ message = '' }: StatusBody, denial: string, created: unknown): string {
  const values = valuesOf(created);
  const shown = denial && values.length > 0 ? withoutParts(message, values) : undefined;
  const withheld = 'the message of the server is withheld, since it may quote a secret';
  return shown ?? [denial, withheld].filter(Boolean).join(': ');
}

function withoutMessages(details: StatusDetails = {}): StatusDetails {
  const { causes, ...rest } = details;
  return causes ? { ...rest, causes: causes.map(({ message: _, ...cause }) => cause) } : rest;
}

function withShortCauses(details: ApiError['details']): ApiError['details'] {
  const { causes } = details;
  if (!causes) return details;
  const short = causes.slice(0, MAX_CAUSES).map((cause) => {
    const { message } = cause;
    return message === undefined ? cause : { ...cause, message: cutText(message, MAX_CAUSE) };
  });
  return { ...details, causes: short };
}

function parseStatus(body: string): StatusBody {
  try {
    const parsed: unknown = JSON.parse(body);
    if (typeof parsed === 'object' && parsed !== null) return parsed;
  } catch {
    // Load balancers and flow control respond with plain text.
  }
  return { message: body.slice(0, 200).trim() };
}
