import { createServer } from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { BindAddress } from '../config/parsers.js';
import { LIMITS, listen } from '../http/http.js';
import type { KeyPair } from '../http/certificate.js';
import type { Logger } from '../telemetry/log.js';
import { Bodies, BodyTooLarge } from './body.js';
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

/** Serves admission webhooks over HTTPS. @throws if the address is in use */
export async function serveWebhooks(props: WebhookServerProps): Promise<WebhookServer> {
  const bodies = new Bodies();
  const server = createServer({ ...LIMITS, ...TLS, ...HANDSHAKE }, (request, response) => {
    void answer(props, bodies, request, response);
  });
  // Each port scan breaks a handshake: the client reports it.
  server.on('tlsClientError', () => undefined);
  const listening = await listen(server, props.address);
  return {
    port: listening.port,
    use: (pair) => {
      server.setSecureContext({ ...TLS, ...pair });
    },
    close: (graceMs) => listening.close(graceMs),
  };
}

async function answer(
  { webhooks, onAnswer, log }: WebhookServerProps,
  bodies: Bodies,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const path = (request.url ?? '/').split('?', 1)[0] ?? '/';
  const webhook = Object.hasOwn(webhooks, path) ? webhooks[path] : undefined;
  if (!webhook) {
    reply(response, 404, 'not found\n');
    return;
  }
  if (request.method !== 'POST') {
    reply(response, 405, 'method not allowed\n');
    return;
  }
  const started = performance.now();
  let admission: AdmissionRequest | undefined;
  let allowed: boolean | undefined;
  try {
    const review = await bodies.with(request, async (body) => {
      admission = requestOf(body);
      const reviewed = await webhook(admission);
      allowed = reviewed.allowed;
      return reviewOf(reviewed);
    });
    reply(response, 200, review);
  } catch (error) {
    if (error instanceof BadReview) reply(response, 400, `${error.message}\n`);
    else if (error instanceof BodyTooLarge) reply(response, error.status, `${error.message}\n`);
    else if (request.destroyed && !request.complete) response.destroy();
    else {
      log.error('admission review failed', { path, kind: admission?.kind.kind, error });
      reply(response, 500, 'internal error\n');
    }
  }
  const seconds = (performance.now() - started) / 1000;
  onAnswer({ webhook: path.slice(1), request: admission, allowed, seconds });
}

function reply(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, {
    'content-type': status === 200 ? 'application/json' : 'text/plain; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    'x-content-type-options': 'nosniff',
    // The unread rest of a body would count as the next request.
    ...(status === 413 || status === 503 ? { connection: 'close' } : {}),
  });
  response.end(body);
}
