import { setTimeout as sleep } from 'node:timers/promises';
import type { Dispatcher } from 'undici';
import type { KubeObject } from '../../constructs/kit/object.js';
import { ApiError, ConnectionError, type StatusBody } from './api-error.js';
import type { Access, Endpoint } from './endpoint.js';
import type { Credentials } from './credentials.js';
import { lines } from './lines.js';
import { isCollection, type Verb } from './resource-path.js';
import { MAX_BYTES, textOf } from './response-body.js';
import { retryDelay } from './retry.js';
import { Semaphore } from '../kit/semaphore.js';
import { closeTransport, openTransport, type Transport } from './transport.js';
import { VERSION } from '../kit/version.js';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
export type Query = Readonly<Record<string, string | undefined>>;

export const MERGE_PATCH = 'application/merge-patch+json';
export const JSON_PATCH = 'application/json-patch+json';
export const APPLY_PATCH = 'application/apply-patch+yaml';
const JSON_TYPE = 'application/json';

export interface RequestOptions {
  readonly query?: Query;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Of the body. @default `application/json`; for PATCH a merge patch */
  readonly contentType?: string;
  readonly accept?: string;
  /** How to parse the response: a log is text. @default json */
  readonly answer?: 'json' | 'text';
  /** The longest body that is read. @default 16 MiB for a list; any other body is read to its end */
  readonly maxBytes?: number;
  readonly signal?: AbortSignal;
  /** For the whole call with its retries. @default 30,000 */
  readonly timeoutMs?: number;
  readonly fence?: Fence;
}

/** Ends calls that must no longer be sent. */
export interface Fence {
  /** Called before each attempt is sent, after its wait for a connection; an error that it throws ends the call. */
  readonly mayStart: () => void;
  /** Aborts the call as `signal` does: also while its connection is opened. */
  readonly signal?: AbortSignal | undefined;
}

export interface WatchOptions {
  readonly signal: AbortSignal;
  /** The longest time without data. Bookmarks come once a minute. */
  readonly idleTimeoutMs: number;
  readonly accept?: string;
}

/** A line of a watch. `ERROR` lines are thrown instead, as an `ApiError`. */
export interface WatchEvent<O extends KubeObject = KubeObject> {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK';
  readonly object: O;
}

/** A client of the API server: raw JSON, few connections, no caches. */
export interface Client {
  /**
   * Resolves with the parsed body; undefined if it is empty. Responses with Retry-After, and broken
   * connections of idempotent calls, are retried a few times.
   * @throws ApiError for a status of 400 and above
   * @throws ConnectionError if no response came in time
   * @throws ResponseTooLarge for a body that is longer than the options permit
   * @throws the signal's reason once it is aborted
   */
  request<T>(method: Method, path: string, options?: RequestOptions): Promise<T>;
  /**
   * The events of a watch until the server ends it. Nothing is retried.
   * @throws ApiError for a refused watch and for an `ERROR` line, such as 410
   * @throws ConnectionError if the connection broke or had no data for too long
   * @throws ResponseTooLarge for an event of more than 16 MiB
   * @throws the signal's reason once it is aborted
   */
  watch<O extends KubeObject = KubeObject>(
    path: string,
    query: Query,
    options: WatchOptions,
  ): AsyncIterable<WatchEvent<O>>;
  /** Server-side apply, forced. Resolves with the stored object. */
  apply<T>(
    path: string,
    object: unknown,
    fieldManager: string,
    options?: Pick<RequestOptions, 'fence'>,
  ): Promise<T>;
  /** Calls so far by verb; retries count. */
  readonly calls: ReadonlyMap<Verb, number>;
  /** Finishes the requests in flight, cuts the watches, and closes all connections. */
  close(): Promise<void>;
}

export interface ClientOptions {
  readonly credentials: Credentials;
  /** Connections that requests share. Each watch has its own. @default 32 */
  readonly connections?: number;
  /** Called for each request with its status, or `error` without a response. */
  readonly onCall?: (verb: Verb, code: string) => void;
  /** For jitter; in [0, 1). */
  readonly random?: () => number;
}

/** A client for the server that the credentials name. Nothing is sent before the first call. */
export function createClient(options: ClientOptions): Client {
  return new HttpClient(options);
}

class HttpClient implements Client {
  readonly calls = new Map<Verb, number>();
  private readonly options: Required<ClientOptions>;
  /** A request that undici queues behind its connections cannot be fenced: the queue is here. */
  private readonly connections: Semaphore;
  private transport: { readonly endpoint: Endpoint; readonly open: Transport } | undefined;

  constructor(options: ClientOptions) {
    this.options = { connections: 32, onCall: () => undefined, random: Math.random, ...options };
    this.connections = new Semaphore(this.options.connections);
  }

  async request<T>(method: Method, path: string, options: RequestOptions = {}): Promise<T> {
    const request = outgoing(method, path, options);
    const idempotent = method !== 'POST';
    const limit = limited(options, request.call);
    try {
      for (let attempt = 1; ; attempt++) {
        const { result, error } = await this.attempt(request, limit.signal, options.answer);
        if (error === undefined) return result as T;
        if (limit.signal.aborted) throw limit.signal.reason;
        const delay = retryDelay(error, attempt, idempotent, this.options.random());
        if (delay === undefined) throw error as Error;
        await sleep(delay, undefined, { signal: limit.signal }).catch(() => {
          throw limit.signal.reason;
        });
      }
    } finally {
      limit.clear();
    }
  }

  apply<T>(
    path: string,
    object: unknown,
    fieldManager: string,
    options: Pick<RequestOptions, 'fence'> = {},
  ): Promise<T> {
    return this.request<T>('PATCH', path, {
      ...options,
      query: { fieldManager, force: 'true' },
      contentType: APPLY_PATCH,
      body: object,
    });
  }

  async *watch<O extends KubeObject>(
    path: string,
    query: Query,
    options: WatchOptions,
  ): AsyncGenerator<WatchEvent<O>> {
    const request: Outgoing = {
      call: `WATCH ${path}`,
      verb: 'watch',
      method: 'GET',
      path: withQuery(path, { ...query, watch: 'true' }),
      headers: { accept: options.accept ?? JSON_TYPE },
    };
    try {
      const { body } = await this.send(request, options.signal, options.idleTimeoutMs);
      for await (const line of lines(body, request.call)) {
        const event = JSON.parse(line) as WatchEvent<O> | { type: 'ERROR'; object: StatusBody };
        if (event.type === 'ERROR') throw ApiError.ofStatus(request.call, event.object);
        yield event;
      }
    } catch (error) {
      if (options.signal.aborted) throw options.signal.reason;
      throw asConnectionError(request.call, error);
    }
  }

  async close(): Promise<void> {
    if (this.transport) await closeTransport(this.transport.open);
  }

  /** One attempt: its result, or the error to retry. */
  private async attempt(
    request: Outgoing,
    signal: AbortSignal,
    answer: RequestOptions['answer'],
  ): Promise<{ readonly result?: unknown; readonly error?: unknown }> {
    let free: (() => void) | undefined;
    try {
      free = await this.connections.acquire(signal);
      const { body } = await this.send(request, signal);
      const text = await textOf(body, request.call, request.maxBytes ?? Infinity);
      if (answer === 'text') return { result: text };
      return { result: text === '' ? undefined : JSON.parse(text) };
    } catch (error) {
      return { error: asConnectionError(request.call, error) };
    } finally {
      free?.();
    }
  }

  /** @throws ApiError for a redirect or an error; a 401 is retried once with new credentials */
  private async send(
    request: Outgoing,
    signal: AbortSignal,
    idleTimeoutMs?: number,
  ): Promise<Dispatcher.ResponseData> {
    const { credentials } = this.options;
    for (let attempt = 1; ; attempt++) {
      const access = await credentials.access();
      request.fence?.mayStart();
      const response = await this.dispatch(request, access, signal, idleTimeoutMs);
      const { statusCode, headers, body } = response;
      if (statusCode < 300) return response;
      const text = await body.text();
      if (statusCode !== 401 || attempt > 1) {
        const after = Number(headers['retry-after'] ?? NaN);
        const retryAfterMs = after >= 0 ? after * 1000 : undefined;
        throw ApiError.of(request.call, statusCode, text, {
          retryAfterMs,
          created: request.created,
        });
      }
      credentials.invalidate();
    }
  }

  private async dispatch(
    { verb, method, path, headers, body }: Outgoing,
    access: Access,
    signal: AbortSignal,
    idleTimeoutMs: number | undefined,
  ): Promise<Dispatcher.ResponseData> {
    const { origin, prefix, requests, watches } = this.connected(access.endpoint);
    let code = 'error';
    try {
      const response = await (verb === 'watch' ? watches : requests).request({
        origin,
        path: prefix + path,
        method,
        headers: { ...headers, 'user-agent': `app-operator/${VERSION}`, ...access.headers },
        body: body ?? null,
        signal,
        ...(idleTimeoutMs !== undefined && {
          headersTimeout: idleTimeoutMs,
          bodyTimeout: idleTimeoutMs,
        }),
      });
      code = String(response.statusCode);
      return response;
    } finally {
      this.calls.set(verb, (this.calls.get(verb) ?? 0) + 1);
      this.options.onCall(verb, code);
    }
  }

  /** The connections to the endpoint: new ones if it has changed, such as its certificates. */
  private connected(endpoint: Endpoint): Transport {
    if (this.transport?.endpoint !== endpoint) {
      const old = this.transport?.open;
      this.transport = { endpoint, open: openTransport(endpoint, this.options.connections) };
      if (old) void closeTransport(old).catch(() => undefined);
    }
    return this.transport.open;
  }
}

interface Outgoing {
  readonly call: string;
  readonly verb: Verb;
  readonly method: Method;
  readonly path: string;
  readonly headers: Record<string, string>;
  body?: string;
  readonly fence?: Fence | undefined;
  readonly maxBytes?: number;
  /** What is to be created, of which errors show no secret value. */
  readonly created?: unknown;
}

function outgoing(method: Method, path: string, options: RequestOptions): Outgoing {
  const contentType = options.contentType ?? (method === 'PATCH' ? MERGE_PATCH : JSON_TYPE);
  const verb = verbOf(method, path, contentType);
  const request: Outgoing = {
    call: `${method} ${path}`,
    verb,
    method,
    path: withQuery(path, options.query),
    headers: { accept: options.accept ?? JSON_TYPE },
    fence: options.fence,
    ...(method === 'POST' ? { created: options.body } : {}),
    maxBytes: options.maxBytes ?? (verb === 'list' ? MAX_BYTES : Infinity),
  };
  if (options.body !== undefined) {
    const json = JSON.stringify(options.body);
    request.body = contentType === APPLY_PATCH ? yamlOf(json) : json;
    request.headers['content-type'] = contentType;
  }
  return request;
}

/** Characters that YAML refuses in a text or reads as line breaks, and halves of characters. */
const NOT_YAML = /[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]|\\ud[89a-f][0-9a-f]{2}/;
/** The same, and other escapes, of which none may be read from its middle. */
const ESCAPED = /[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]|\\(?:ud[89a-f][0-9a-f]{2}|.)/g;

/**
 * JSON that the API server reads as it is meant: it reads the body of an apply as YAML, refuses some
 * characters there, and folds others.
 */
function yamlOf(json: string): string {
  if (!NOT_YAML.test(json)) return json;
  return json.replace(ESCAPED, (found) => {
    if (found.startsWith('\\')) return found.length > 2 ? '\\ufffd' : found;
    return `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}

function verbOf(method: Method, path: string, contentType: string): Verb {
  switch (method) {
    case 'GET':
      return isCollection(path) ? 'list' : 'get';
    case 'POST':
      return 'create';
    case 'PUT':
      return 'update';
    case 'PATCH':
      return contentType === APPLY_PATCH ? 'apply' : 'patch';
    case 'DELETE':
      return 'delete';
  }
}

function withQuery(path: string, query: Query | undefined): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value !== undefined) parameters.set(name, value);
  }
  return parameters.size > 0 ? `${path}?${parameters.toString()}` : path;
}

/** A signal that follows those of the options and is aborted after their timeout. */
function limited(
  { signal, fence, timeoutMs = 30_000 }: RequestOptions,
  call: string,
): { readonly signal: AbortSignal; readonly clear: () => void } {
  const controller = new AbortController();
  const timer = setTimeout(() => {
    controller.abort(new ConnectionError(call, 'Timeout'));
  }, timeoutMs);
  const ends = [signal, fence?.signal].map((outer) => {
    const follow = (): void => controller.abort(outer?.reason);
    if (outer?.aborted) follow();
    outer?.addEventListener('abort', follow, { once: true });
    return (): void => outer?.removeEventListener('abort', follow);
  });
  return {
    signal: controller.signal,
    clear: (): void => {
      clearTimeout(timer);
      for (const end of ends) end();
    },
  };
}

/** Errors of undici and Node have a code; neither quotes the request. */
function asConnectionError(call: string, error: unknown): unknown {
  if (error instanceof ApiError || error instanceof ConnectionError) return error;
  const code = (error as { readonly code?: unknown } | null)?.code;
  if (typeof code === 'string') return new ConnectionError(call, code, error);
  // A SyntaxError quotes the text that it could not parse, which may be a secret.
  return error instanceof SyntaxError ? new ConnectionError(call, 'InvalidJson') : error;
}
