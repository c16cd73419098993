import { ApiError, ConnectionError } from './api-error.js';

/** Attempts after the first one. */
const RETRIES = 3;
const BASE_MS = 100;
/** The longest wait that a server's Retry-After is given; beyond it the caller's backoff takes over. */
const MAX_RETRY_AFTER_MS = 10_000;

/** Errors of a connection that never was: nothing has been sent, so anything may be sent again. */
const UNSENT = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);
/** Errors of a connection that broke: the server may have done what was asked. */
const BROKEN = new Set(['ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'UND_ERR_SOCKET']);

/**
 * How long to wait before a failed call is tried again, in milliseconds; undefined where it is not.
 * @param attempt attempts so far, from 1
 * @param idempotent whether doing it twice is the same as doing it once
 * @param random in [0, 1)
 */
export function retryDelay(
  error: unknown,
  attempt: number,
  idempotent: boolean,
  random: number,
): number | undefined {
  if (attempt > RETRIES) return undefined;
  const jitter = 0.5 + random;
  if (error instanceof ApiError) {
    // With Retry-After the server says that it has not acted.
    const after = error.retryAfterMs;
    if (after === undefined || after > MAX_RETRY_AFTER_MS) return undefined;
    return error.status === 429 || error.status === 503 ? after + BASE_MS * jitter : undefined;
  }
  if (!(error instanceof ConnectionError)) return undefined;
  if (!UNSENT.has(error.code) && !(idempotent && BROKEN.has(error.code))) return undefined;
  return BASE_MS * 2 ** (attempt - 1) * jitter;
}
