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
  readonly retryAfterSeconds?: number;
}

/** The API server answered, and the answer is no. Its message never quotes a secret or a token. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  constructor(
    /** HTTP status code; for the last line of a watch, the code in it. */
    readonly status: number,
    /** `Status.reason`, such as `NotFound`; empty where the server gave none. */
    readonly reason: string,
    readonly details: StatusDetails,
    message: string,
    /** What the server asks to wait before a retry, in milliseconds. */
    readonly retryAfterMs?: number,
  ) {
    super(message);
  }

  /** The error for a response body that may be a `Status`, plain text or nothing. */
  static of(call: string, status: number, body: string, retryAfterMs?: number): ApiError {
    return ApiError.ofStatus(call, { ...parseStatus(body), code: status }, retryAfterMs);
  }

  static ofStatus(call: string, body: StatusBody, retryAfterMs?: number): ApiError {
    const status = body.code ?? 500;
    const reason = body.reason ?? '';
    const withheld = quotesTheRequest(call, status);
    const message = withheld
      ? 'the message of the server is withheld, since it may quote a secret'
      : (body.message ?? '');
    const details = body.details ?? {};
    const { causes, ...rest } = details;
    return new ApiError(
      status,
      reason,
      withheld && causes ? { ...rest, causes: causes.map(({ message: _, ...c }) => c) } : details,
      [`${call}: ${status}${reason && ` ${reason}`}`, message].filter(Boolean).join(': '),
      retryAfterMs,
    );
  }
}

/** No answer came: the connection failed, broke or took too long. */
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

const has = (error: unknown, status: number): error is ApiError =>
  error instanceof ApiError && error.status === status;

export const isUnauthorized = (error: unknown) => has(error, 401);
export const isForbidden = (error: unknown) => has(error, 403);
/** Nothing can be created any more: the namespace goes, with all that is in it. */
export const isNamespaceTerminating = (error: unknown) =>
  isForbidden(error) &&
  error instanceof ApiError &&
  (error.details.causes?.some(({ reason }) => reason === 'NamespaceTerminating') ?? false);
export const isNotFound = (error: unknown) => has(error, 404);
/** A precondition or a resourceVersion no longer holds, or the name is taken. */
export const isConflict = (error: unknown) => has(error, 409);
export const isAlreadyExists = (error: unknown) =>
  isConflict(error) && error.reason === 'AlreadyExists';
/** The resourceVersion or the continue token is too old: list again. */
export const isGone = (error: unknown) =>
  has(error, 410) || (error instanceof ApiError && error.reason === 'Expired');
/** The object is refused: by its schema, a rule, or a webhook. */
export const isInvalid = (error: unknown) =>
  has(error, 422) ||
  // What does not fit the kind's schema, server-side apply answers so; it never passes by itself.
  (has(error, 500) && error.message.includes('failed to create typed patch object'));

/** Decoding and validation errors can quote the value that was sent. */
function quotesTheRequest(call: string, status: number): boolean {
  return (
    /\/(secrets|tokenreviews)\b/.test(call) && ![401, 403, 404, 405, 409, 410, 429].includes(status)
  );
}

function parseStatus(body: string): StatusBody {
  try {
    const parsed: unknown = JSON.parse(body);
    if (typeof parsed === 'object' && parsed !== null) return parsed;
  } catch {
    // Not every answer is a Status: load balancers and flow control write plain text.
  }
  return { message: body.slice(0, 200).trim() };
}
