import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import { request as requestTls } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';

/** The address and the site of a request. */
export interface Target {
  readonly address: string;
  readonly port: number;
  /** The header `Host`. */
  readonly host: string;
  readonly path: string;
}

export interface RequestOptions {
  /** Default: GET. */
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  /** Default: 30,000. */
  readonly timeoutMs?: number;
  /** Default: a new connection for each request. */
  readonly agent?: Agent;
  /** In PEM: the request is by HTTPS, and this authority must have signed the certificate of the host. */
  readonly ca?: string;
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

const CLOSED = new Set(['ECONNRESET', 'EPIPE']);

/** A connection that was kept from an earlier request had been closed, before anything was answered. */
export class StaleConnection extends Error {}

/** One request. Redirects are not followed; every status is an answer. */
export function send(target: Target, options: RequestOptions = {}): Promise<Answer> {
  const { method = 'GET', headers = {}, body, timeoutMs = 30_000, agent, ca } = options;
  return new Promise((resolve, reject) => {
    const sent = (ca === undefined ? request : requestTls)(
      {
        host: target.address,
        port: target.port,
        path: target.path,
        method,
        agent: agent ?? false,
        ...(ca === undefined ? {} : { ca, servername: target.host }),
        headers: {
          host: target.host,
          ...headers,
          ...(body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }),
        },
        signal: AbortSignal.timeout(timeoutMs),
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.once('error', reject);
        response.once('end', () => {
          const text = Buffer.concat(chunks).toString();
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text });
        });
      },
    );
    let answered = false;
    sent.once('response', () => (answered = true));
    sent.once('error', (error: Error & { readonly code?: string }) => {
      const isStale = sent.reusedSocket && !answered && CLOSED.has(error.code ?? '');
      reject(isStale ? new StaleConnection(error.message, { cause: error }) : error);
    });
    sent.end(body);
  });
}

export interface Load<T> {
  readonly sent: number;
  readonly lost: number;
  /** What the lost ones got instead: a status or an error, with how often. */
  readonly failures: Readonly<Record<string, number>>;
  /** How many were sent a second time, on a connection of their own. */
  readonly repeated: number;
  /** Of the slowest answer. */
  readonly slowestMs: number;
  /** How long nothing ran here in the worst `STALL_WINDOW_MS`: of all processes, where the machine stood still. */
  readonly stalledMs: number;
  readonly result: T;
}

const WORKERS = 4;
const PAUSE_MS = 25;
/** Before and after the work, so that what it leaves behind is seen too. */
const MARGIN_MS = 1_000;
const PULSE_MS = 100;
/** Stalls within this time count together: a terminating pod runs for 5 s more, and loses the sum of them. */
export const STALL_WINDOW_MS = 6_000;

/**
 * Sends requests while some work is done, and counts the requests that are not answered with 200. Half of the
 * clients keep their connection, half make a new one for each request.
 *
 * A server may close a connection in the moment in which the next request is sent on it: where that was
 * kept from an earlier request, and nothing of an answer has come, clients send it again (RFC 9112, 9.3.1).
 */
export async function loadDuring<T>(target: Target, work: () => Promise<T>): Promise<Load<T>> {
  const failures: Record<string, number> = {};
  let sent = 0;
  let repeated = 0;
  let slowestMs = 0;
  let stalledMs = 0;
  let over = false;
  let beat = performance.now();
  let late: { readonly at: number; readonly ms: number }[] = [];
  const pulse = setInterval(() => {
    const now = performance.now();
    late = late.filter(({ at }) => at > now - STALL_WINDOW_MS);
    late.push({ at: now, ms: now - beat - PULSE_MS });
    beat = now;
    stalledMs = Math.max(stalledMs, Math.round(late.reduce((sum, { ms }) => sum + ms, 0)));
  }, PULSE_MS);
  const agent = new Agent({ keepAlive: true, maxSockets: WORKERS / 2 });
  const client = async (keeps: boolean): Promise<void> => {
    while (!over) {
      const begun = performance.now();
      let outcome = await outcomeOf(send(target, keeps ? { agent } : {}));
      if (outcome === STALE) {
        repeated += 1;
        outcome = await outcomeOf(send(target));
      }
      sent += 1;
      slowestMs = Math.max(slowestMs, Math.round(performance.now() - begun));
      if (outcome !== '200') failures[outcome] = (failures[outcome] ?? 0) + 1;
      await sleep(PAUSE_MS);
    }
  };
  const clients = Array.from({ length: WORKERS }, (_, index) => client(index % 2 === 0));
  try {
    await sleep(MARGIN_MS);
    const result = await work();
    await sleep(MARGIN_MS);
    over = true;
    await Promise.all(clients);
    const lost = Object.values(failures).reduce((sum, count) => sum + count, 0);
    return { sent, lost, failures, repeated, slowestMs, stalledMs, result };
  } finally {
    over = true;
    clearInterval(pulse);
    agent.destroy();
  }
}

const STALE = 'the kept connection was closed';

function outcomeOf(answer: Promise<Answer>): Promise<string> {
  return answer.then(
    ({ status }) => String(status),
    (error: unknown) => (error instanceof StaleConnection ? STALE : codeOf(error)),
  );
}

function codeOf(error: unknown): string {
  const { code, name } = error as { readonly code?: string; readonly name?: string };
  return code ?? name ?? String(error);
}
