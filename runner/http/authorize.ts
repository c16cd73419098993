import { isAllowed, type UserInfo } from '../api/access-review.js';
import { keepNewest } from '../kit/keep-newest.js';
import { createHash } from 'node:crypto';
import { ApiError } from '../api/api-error.js';
import type { Client } from '../api/client.js';
import type { Reply, Route } from './http-server.js';
import type { Logger } from '../telemetry/log.js';

export interface AuthorizeOptions {
  readonly client: Pick<Client, 'request'>;
  readonly log: Logger;
  /** Monotonic, in milliseconds. */
  readonly now?: () => number;
}

/** The permission that a caller needs: `get` on the path as a non-resource URL. */
const VERB = 'get';
const CACHE_MS = 10_000;
const CACHE_SIZE = 256;
/** A flood of invalid tokens must not reach the API server. */
const MAX_PENDING = 16;
const REVIEW_TIMEOUT_MS = 5_000;

type Decision = 'allowed' | 'unauthenticated' | 'forbidden';

interface TokenReview {
  readonly status?: {
    readonly authenticated?: boolean;
    readonly user?: UserInfo;
  };
}

/**
 * A route behind the cluster's authentication and authorization: 401 without a token that the API
 * server accepts for its own audience, 403 without the permission, 500 or 503 if the API server gives
 * no decision. Decisions are cached for ten seconds under the token's hash.
 */
export function authorized(path: string, route: Route, options: AuthorizeOptions): Route {
  const { client, log, now = () => performance.now() } = options;
  const cache = new Map<string, { readonly decision: Decision; readonly until: number }>();
  const pending = new Map<string, Promise<Decision>>();

  const decide = async (token: string): Promise<Decision> => {
    const key = createHash('sha256').update(token).digest('base64');
    const known = cache.get(key);
    if (known && now() < known.until) return known.decision;
    const running = pending.get(key);
    if (running) return running;
    if (pending.size >= MAX_PENDING) throw new Overloaded();
    const review = reviewToken(client, path, token).finally(() => pending.delete(key));
    pending.set(key, review);
    const decision = await review;
    cache.delete(key);
    cache.set(key, { decision, until: now() + CACHE_MS });
    keepNewest(cache, CACHE_SIZE);
    return decision;
  };

  return async (request) => {
    const token = /^Bearer +([^\s]+)$/i.exec(request.headers.authorization ?? '')?.[1];
    if (token === undefined) return UNAUTHENTICATED;
    let decision: Decision;
    try {
      decision = await decide(token);
    } catch (error) {
      log.error('no authorization decision', { path, error });
      return undecided(error);
    }
    if (decision === 'allowed') return route(request);
    return decision === 'forbidden' ? FORBIDDEN : UNAUTHENTICATED;
  };
}

async function reviewToken(
  client: Pick<Client, 'request'>,
  path: string,
  token: string,
): Promise<Decision> {
  const { status } = await client.request<TokenReview>(
    'POST',
    '/apis/authentication.k8s.io/v1/tokenreviews',
    {
      timeoutMs: REVIEW_TIMEOUT_MS,
      body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token } },
    },
  );
  if (status?.authenticated !== true || !status.user?.username) return 'unauthenticated';
  const { username: user, uid, groups, extra } = status.user;
  const spec = { user, uid, groups, extra, nonResourceAttributes: { path, verb: VERB } };
  return (await isAllowed(client, spec, REVIEW_TIMEOUT_MS)) ? 'allowed' : 'forbidden';
}

const UNAUTHENTICATED: Reply = {
  status: 401,
  body: 'unauthorized\n',
  headers: { 'www-authenticate': 'Bearer' },
};
const FORBIDDEN: Reply = { status: 403, body: 'forbidden\n' };

/** Fails closed: without a decision the caller gets no metrics. */
function undecided(error: unknown): Reply {
  const ours = error instanceof ApiError && error.status !== 429 && error.status < 500;
  return ours
    ? { status: 500, body: 'internal error\n' }
    : { status: 503, body: 'authorization unavailable\n' };
}

/** Too many callers wait for a decision. */
class Overloaded extends Error {
  override readonly name = 'Overloaded';
  constructor() {
    super('too many callers wait for a decision');
  }
}
