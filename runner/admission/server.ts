import { createServer, type Server } from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { TLSSocket } from 'node:tls';
import type { BindAddress } from '../config/parsers.js';
import { LIMITS, listen } from '../http/http-server.js';
import type { KeyPair } from '../http/certificate.js';
import type { Logger } from '../telemetry/log.js';
import { bodyOf, TooLarge } from './body.js';
import {
  BadReview,
  requestOf,
  reviewOf,
  type AdmissionRequest,
  type AdmissionResponse,
} from './review.js';

/** Reviews a request. An error becomes a 500 without details; the API server then ignores the webhook. */
export type Webhook = (request: AdmissionRequest) => AdmissionResponse | Promise<AdmissionResponse>;

/** The result of a request; `request` is undefined if it could not be read. */
export interface Answered {
  readonly webhook: string;
  readonly request: AdmissionRequest | undefined;
  readonly allowed: boolean | undefined;
  readonly seconds: number;
}

export interface WebhookServerProps {
  readonly address: BindAddress;
  /** By path. */
  readonly webhooks: Readonly<Record<string, Webhook>>;
  readonly onAnswer: (answered: Answered) => void;
  readonly log: Logger;
  /**
   * The authorities of the only clients that are answered, as PEM; read again and again.
   * @default every client is answered
   */
  readonly clientAuthorities?: (() => Promise<string>) | undefined;
  /** Common names of these clients. @default all that an authority has signed */
  readonly clientNames?: readonly string[];
}

export interface WebhookServer {
  readonly port: number;
  /** Uses this certificate for new connections. Before the first one every handshake fails. */
  use(pair: KeyPair): void;
  close(graceMs?: number): Promise<void>;
}

const TLS = { minVersion: 'TLSv1.2' } as const;
/** Shorter than the default of two minutes, for connections that send nothing. */
const HANDSHAKE = { handshakeTimeout: 5_000 };

/** A mounted file takes up to a minute to change. */
const RELOAD_MS = 10_000;

/** An API server waits three seconds for the response. */
const REQUEST_MS = 5_000;

/** Serves admission webhooks over HTTPS. @throws if the address is in use */
export async function serveWebhooks(props: WebhookServerProps): Promise<WebhookServer> {
  const { clientAuthorities, clientNames = [] } = props;
  const server = createServer(
    {
      ...{ ...LIMITS, ...TLS, ...HANDSHAKE, requestTimeout: REQUEST_MS },
      ...(clientAuthorities ? { requestCert: true, rejectUnauthorized: true } : {}),
    },
    (request, response) => {
      if (clientAuthorities && !isAccepted(request, clientNames)) {
        reply(response, 403, 'forbidden: another client certificate is needed\n');
      } else void answer(props, request, response);
    },
  );
  // Each port scan breaks a handshake: the client reports it.
  server.on('tlsClientError', () => undefined);
  const secure = await secureContext(server, props);
  const listening = await listen(server, props.address);
  return {
    port: listening.port,
    use: (pair) => {
      secure.use(pair);
    },
    close: (graceMs) => {
      secure.stop();
      return listening.close(graceMs);
    },
  };
}

/** Keeps a server's certificate, and the authorities of its clients, current. */
async function secureContext(
  server: Server,
  { clientAuthorities, log }: WebhookServerProps,
): Promise<{ use: (pair: KeyPair) => void; stop: () => void }> {
  let served: KeyPair | undefined;
  let ca = await clientAuthorities?.();
  const set = (): void => {
    if (served) server.setSecureContext({ ...TLS, ...served, ...(ca === undefined ? {} : { ca }) });
  };
  const reload = async (): Promise<void> => {
    try {
      const next = await clientAuthorities?.();
      if (next === ca) return;
      ca = next;
      set();
      log.info('authorities of webhook clients reloaded');
    } catch (error) {
      log.warn('authorities of webhook clients not reloaded', { error });
    }
  };
  const timer = clientAuthorities && setInterval(() => void reload(), RELOAD_MS).unref();
  return {
    use: (pair) => {
      served = pair;
      set();
    },
    stop: () => {
      clearInterval(timer);
    },
  };
}

/** Whether the client's certificate, which its authority has signed, has one of these names. */
function isAccepted(request: IncomingMessage, names: readonly string[]): boolean {
  const { socket } = request;
  if (!(socket instanceof TLSSocket)) return false;
  const { subject } = socket.getPeerCertificate();
  return (
    names.length === 0 ||
    [subject.CN].flat().some((name) => name !== undefined && names.includes(name))
  );
}

async function answer(
  props: WebhookServerProps,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { onAnswer, log } = props;
  const path = (request.url ?? '/').split('?', 1)[0] ?? '/';
  const webhook = Object.hasOwn(props.webhooks, path) ? props.webhooks[path] : undefined;
  if (!webhook) {
    reply(response, 404, 'not found\n');
    return;
  }
  if (request.method !== 'POST') {
    reply(response, 405, 'method not allowed\n');
    return;
  }
  const started = performance.now();
  let reviewed: Reviewed = {};
  try {
    const body = await review(await bodyOf(request), webhook, (state) => (reviewed = state));
    reply(response, 200, body);
  } catch (error) {
    const status = statusOf(error);
    if (status !== undefined) reply(response, status, `${(error as Error).message}\n`);
    else if (request.destroyed && !request.complete) response.destroy();
    else {
      log.error('admission review failed', { path, kind: reviewed.request?.kind.kind, error });
      reply(response, 500, 'internal error\n');
    }
  }
  const seconds = (performance.now() - started) / 1000;
  const { request: admission, allowed } = reviewed;
  onAnswer({ webhook: path.slice(1), request: admission, allowed, seconds });
}

/** How far a review came. */
interface Reviewed {
  readonly request?: AdmissionRequest;
  readonly allowed?: boolean;
}

/** The body of the response. */
async function review(
  body: string,
  webhook: Webhook,
  report: (state: Reviewed) => void,
): Promise<string> {
  const request = requestOf(body);
  report({ request });
  const response = await webhook(request);
  report({ request, allowed: response.allowed });
  return reviewOf(response);
}

/** The status of an expected error; undefined for others. */
function statusOf(error: unknown): number | undefined {
  if (error instanceof BadReview) return 400;
  return error instanceof TooLarge ? 413 : undefined;
}

function reply(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, {
    'content-type': status === 200 ? 'application/json' : 'text/plain; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    'x-content-type-options': 'nosniff',
    // The unread rest of a body would count as the next request.
    ...(status === 413 ? { connection: 'close' } : {}),
  });
  response.end(body);
}
