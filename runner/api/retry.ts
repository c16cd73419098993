import { doubledMs } from '../kit/backoff.js';
import { ApiError, ConnectionError } from './api-error.js';

/** Attempts after the first one. */
const RETRIES = 3;
const BASE_MS = 100;
/** The longest Retry-After that is waited for; beyond it the caller's backoff applies. */
const MAX_RETRY_AFTER_MS = 10_000;

/** Errors before a connection: nothing was sent, so any call may be retried. */
const UNSENT = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);
/** Errors of a broken connection: the server may have handled the request. */
const BROKEN = new Set(['ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'UND_ERR_SOCKET']);

/**
 * Milliseconds until a failed call is retried; undefined if it is not.
 * @param attempt attempts so far, from 1
 * @param idempotent whether a repeated call has the same effect
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
    // With Retry-After the server has not handled the request.
    const after = error.retryAfterMs;
    if (after === undefined || after > MAX_RETRY_AFTER_MS) return undefined;
    return error.status === 429 || error.status === 503 ? after + BASE_MS * jitter : undefined;
  }
  if (!(error instanceof ConnectionError)) return undefined;
  if (!UNSENT.has(error.code) && !(idempotent && BROKEN.has(error.code))) return undefined;
  return doubledMs(attempt - 1, { first: BASE_MS, most: Infinity }) * jitter;
}
