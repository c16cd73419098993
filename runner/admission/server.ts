import type { IncomingMessage } from 'node:http';
import { TLSSocket } from 'node:tls';
import { messageOf } from '../../constructs/kit/errors.js';
import type { BindAddress } from '../config/parsers.js';
import type { KeyPair } from '../http/certificate.js';
import type { HttpServer, Reply, Route } from '../http/http-server.js';
import { serveHttps } from '../http/https-server.js';
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

export interface WebhookServer extends HttpServer {
  /** Uses this certificate for new connections. Before the first one every handshake fails. */
  use(pair: KeyPair): Promise<void>;
}

/** Serves admission webhooks over HTTPS. @throws if the address is in use */
export async function serveWebhooks(props: WebhookServerProps): Promise<WebhookServer> {
  const { address, log, webhooks, clientAuthorities } = props;
  let pair: KeyPair | undefined;
  const routes = Object.entries(webhooks).map(([path, webhook]) => [
    path,
    routeOf(path, webhook, props),
  ]);
  const server = await serveHttps({
    address,
    routes: Object.fromEntries(routes) as Record<string, Route>,
    method: 'POST',
    source: async () => {
      const ca = await clientAuthorities?.();
      return pair && { ...pair, ca };
    },
    log,
    ...(clientAuthorities ? { options: { requestCert: true, rejectUnauthorized: true } } : {}),
  });
  return {
    ...server,
    use: (next) => {
      pair = next;
      return server.reload();
    },
  };
}

function routeOf(path: string, webhook: Webhook, props: WebhookServerProps): Route {
  const { clientAuthorities, clientNames = [], onAnswer } = props;
  return async (request) => {
    if (clientAuthorities && !isAccepted(request, clientNames)) {
      return { status: 403, body: 'forbidden: another client certificate is needed\n' };
    }
    const started = performance.now();
    const reviewed: Reviewed = {};
    const reply = await review(request, webhook, reviewed).catch((error: unknown) => {
      // A client that has closed the connection gets no answer.
      if (!request.destroyed || request.complete) {
        const kind = reviewed.request?.kind.kind;
        props.log.error('admission review failed', { path, kind, error });
      }
      return { status: 500, body: 'internal error\n' };
    });
    const seconds = (performance.now() - started) / 1000;
    const { request: admission, allowed } = reviewed;
    onAnswer({ webhook: path.slice(1), request: admission, allowed, seconds });
    return reply;
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

/** How far a review came. */
interface Reviewed {
  request?: AdmissionRequest;
  allowed?: boolean;
}

async function review(
  request: IncomingMessage,
  webhook: Webhook,
  reviewed: Reviewed,
): Promise<Reply> {
  try {
    reviewed.request = requestOf(await bodyOf(request));
    const response = await webhook(reviewed.request);
    reviewed.allowed = response.allowed;
    return { status: 200, body: reviewOf(response), contentType: 'application/json' };
  } catch (error) {
    const body = `${messageOf(error)}\n`;
    if (error instanceof BadReview) return { status: 400, body };
    // The unread rest of a body would count as the next request.
    if (error instanceof TooLarge) return { status: 413, body, headers: { connection: 'close' } };
    throw error;
  }
}
