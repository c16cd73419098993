import { createServer } from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { BindAddress } from '../config/parsers.js';
import { LIMITS, listen } from '../http/http.js';
import type { KeyPair } from '../http/certificate.js';
import type { Logger } from '../telemetry/log.js';
import { Bodies, TooMuch } from './body.js';
import {
  BadReview,
  requestOf,
  reviewOf,
  type AdmissionRequest,
  type AdmissionResponse,
} from './review.js';

/** Answers a review. What it throws becomes a 500 without details, and the API server goes on without. */
export type Webhook = (request: AdmissionRequest) => AdmissionResponse | Promise<AdmissionResponse>;

/** What became of a request; `request` is undefined where it could not be read. */
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
  /** Serves with this certificate from now on; connections that are open stay. Before the first one no handshake succeeds. */
  use(pair: KeyPair): void;
  close(graceMs?: number): Promise<void>;
}

const TLS = { minVersion: 'TLSv1.2' } as const;
/** A connection that never says hello is not kept for the two minutes that are the default. */
const HANDSHAKE = { handshakeTimeout: 5_000 };

/** Serves admission webhooks over HTTPS. @throws where the address cannot be listened on */
export async function serveWebhooks(props: WebhookServerProps): Promise<WebhookServer> {
  const bodies = new Bodies();
  const server = createServer({ ...LIMITS, ...TLS, ...HANDSHAKE }, (request, response) => {
    void answer(props, bodies, request, response);
  });
  // Broken handshakes are the caller's to tell; they come with each scan of a port.
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
  const begun = performance.now();
  let asked: AdmissionRequest | undefined;
  let allowed: boolean | undefined;
  try {
    const review = await bodies.with(request, async (body) => {
      asked = requestOf(body);
      const answered = await webhook(asked);
      allowed = answered.allowed;
      return reviewOf(answered);
    });
    reply(response, 200, review);
  } catch (error) {
    if (error instanceof BadReview) reply(response, 400, `${error.message}\n`);
    else if (error instanceof TooMuch) reply(response, error.status, `${error.message}\n`);
    else if (request.destroyed && !request.complete) response.destroy();
    else {
      log.error('A review failed', { path, kind: asked?.kind.kind, error });
      reply(response, 500, 'internal error\n');
    }
  }
  const seconds = (performance.now() - begun) / 1000;
  onAnswer({ webhook: path.slice(1), request: asked, allowed, seconds });
}

function reply(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, {
    'content-type': status === 200 ? 'application/json' : 'text/plain; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    'x-content-type-options': 'nosniff',
    // What was not read of a body would be taken for the next request.
    ...(status === 413 || status === 503 ? { connection: 'close' } : {}),
  });
  response.end(body);
}
