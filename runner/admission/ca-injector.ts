import { OPERATOR } from '../../constructs/index.js';
import type { KubeObject } from '../../constructs/kit/object.js';
import { Secret, type ObjectKind } from '../../constructs/kit/object-kind.js';
import { ApiError } from '../api/api-error.js';
import type { Client } from '../api/client.js';
import { resourcePath } from '../api/resource-path.js';
import { FIELD_MANAGER } from '../cache/child.js';
import { Reflector } from '../cache/reflector.js';
import type { Logger } from '../telemetry/log.js';
import { keysFor, rotated, type WebhookKeys } from './certificate-rotation.js';
import {
  bundlePatch,
  keysOf,
  type KeySecret,
  MutatingWebhookConfiguration,
  secretOf,
  ValidatingWebhookConfiguration,
  type WebhookConfiguration,
} from './objects.js';

export interface CaInjectorProps {
  readonly client: Pick<Client, 'request' | 'watch'>;
  /** The operator's own namespace. */
  readonly namespace: string;
  /** What the server is called by. */
  readonly hosts: readonly string[];
  /** Told of the keys to serve with, first and whenever they change. */
  readonly onKeys: (keys: WebhookKeys) => void;
  readonly log: Logger;
}

/** Callers have a bundle some moments after it is written: every API server watches for it. */
const SETTLE_MS = 10_000;
const LOOK_MS = 3_600_000;
const RETRY_MS = 5_000;
/** Whoever was quicker is heard of long before so many turns have failed in a row: it is something else then. */
const LATE_TURNS = 4;
const JSON_PATCH = 'application/json-patch+json';
const CONFIGURATIONS = [ValidatingWebhookConfiguration, MutatingWebhookConfiguration] as const;

/**
 * Keeps what the webhooks are trusted by: the keys in a Secret, and the authorities in the webhook
 * configurations, where those are there; it never makes them. Every replica does so, since every one
 * serves: what one writes follows from the Secret alone, and a write that comes second changes nothing
 * or is refused.
 */
export class CaInjector {
  readonly #stop = new AbortController();
  readonly #secret: Single<KeySecret>;
  readonly #configurations: readonly Single<WebhookConfiguration>[];
  #keys: WebhookKeys | undefined;
  /** Which bundle is everywhere, and since when, in monotonic milliseconds. */
  #published: { readonly bundle: string; readonly since: number } | undefined;
  #turning = false;
  #again = false;
  #told = '';
  /** Turns in a row whose write came too late. */
  #late = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly props: CaInjectorProps) {
    const single = <O extends KubeObject>(kind: ObjectKind, name: string, namespace?: string) =>
      new Single<O>({ ...props, kind, name, namespace, changed: () => this.#kick() });
    this.#secret = single<KeySecret>(Secret, OPERATOR.webhookSecret, props.namespace);
    this.#configurations = CONFIGURATIONS.map((kind) =>
      single<WebhookConfiguration>(kind, OPERATOR.webhookConfiguration),
    );
  }

  start(): void {
    for (const one of [this.#secret, ...this.#configurations]) void one.run(this.#stop.signal);
  }

  stop(): void {
    this.#stop.abort();
    clearTimeout(this.#timer);
  }

  /** Why the webhooks cannot be served yet; empty when they are. */
  problems(): readonly string[] {
    return this.#keys ? [] : [`the keys in Secret ${OPERATOR.webhookSecret} are not there yet`];
  }

  /** One turn at a time: each sees what the one before has written. */
  #kick(): void {
    this.#again = true;
    if (this.#turning) return;
    this.#turning = true;
    void this.#turns().finally(() => {
      this.#turning = false;
    });
  }

  async #turns(): Promise<void> {
    clearTimeout(this.#timer);
    let next = LOOK_MS;
    while (this.#again && !this.#stop.signal.aborted) {
      this.#again = false;
      try {
        next = await this.#turn();
        this.#told = '';
        this.#late = 0;
      } catch (error) {
        next = RETRY_MS;
        // Another one was quicker: its change is on its way to here.
        const late = error instanceof ApiError && [404, 409, 422].includes(error.status);
        if (late && ++this.#late < LATE_TURNS) continue;
        const what = error instanceof Error ? error.message : '';
        if (what !== this.#told) this.props.log.warn('the webhooks are not kept', { error });
        this.#told = what;
      }
    }
    if (this.#stop.signal.aborted) return;
    this.#timer = setTimeout(() => this.#kick(), next);
    this.#timer.unref();
  }

  /** @returns milliseconds until the next one is due */
  async #turn(): Promise<number> {
    if (!this.#secret.known) return RETRY_MS;
    await this.#keepSecret();
    const { bundle } = this.#keys ?? {};
    if (bundle === undefined) return RETRY_MS;
    await this.#publish(bundle);
    const since = this.#published?.bundle === bundle ? this.#published.since : undefined;
    if (since === undefined) return RETRY_MS;
    const rest = since + SETTLE_MS - performance.now();
    if (rest > 0) return rest;
    return (await this.#keepSecret()) ? RETRY_MS : LOOK_MS;
  }

  /** @returns whether it was changed */
  async #keepSecret(): Promise<boolean> {
    const { client, namespace, hosts, log } = this.props;
    const found = this.#secret.object;
    const now = Date.now();
    const stored = keysOf(found, now);
    if (stored) this.#use(stored);
    // Taken away, they come back with a new authority: trust passes over without a gap.
    const base = stored ?? (this.#keys && rotated(this.#keys, { now }));
    const wanted = keysFor(base, { hosts, now, settled: this.#isSettled(base) });
    if (wanted === stored) return false;
    const body = secretOf(wanted, namespace, found);
    const written = found
      ? await client.request<KeySecret>('PUT', pathOf(Secret, OPERATOR.webhookSecret, namespace), {
          body,
        })
      : await client.request<KeySecret>('POST', resourcePath(Secret, namespace), { body });
    this.#secret.remember(written);
    log.info('the keys of the webhooks are written', {
      authority: base?.bundle !== wanted.bundle,
      certificate: base?.cert !== wanted.cert,
    });
    this.#use(wanted);
    return true;
  }

  #isSettled(keys: WebhookKeys | undefined): boolean {
    const { bundle, since } = this.#published ?? { since: 0 };
    return bundle === keys?.bundle && performance.now() - since >= SETTLE_MS;
  }

  #use(keys: WebhookKeys): void {
    const { cert, key, bundle } = keys;
    const before = this.#keys;
    if (before?.cert === cert && before.key === key && before.bundle === bundle) return;
    this.#keys = keys;
    if (before?.cert !== cert) this.props.onKeys(keys);
  }

  /** Puts the bundle into the configurations that are there. */
  async #publish(bundle: string): Promise<void> {
    let known = true;
    for (const configuration of this.#configurations) {
      known &&= configuration.known;
      const { object, kind } = configuration;
      const patch = object && bundlePatch(object, bundle);
      if (!patch) continue;
      const path = pathOf(kind, OPERATOR.webhookConfiguration);
      configuration.remember(
        await this.props.client.request<WebhookConfiguration>('PATCH', path, {
          query: { fieldManager: FIELD_MANAGER },
          contentType: JSON_PATCH,
          body: patch,
        }),
      );
      this.props.log.info('the authorities are written to a webhook configuration', {
        kind: kind.kind,
      });
    }
    if (known && this.#published?.bundle !== bundle) {
      this.#published = { bundle, since: performance.now() };
    }
  }
}

interface SingleProps extends Pick<CaInjectorProps, 'client' | 'log'> {
  readonly kind: ObjectKind;
  readonly name: string;
  /** undefined where the kind is of the cluster. */
  readonly namespace: string | undefined;
  readonly changed: () => void;
}

/** One object as the watch has it. Nothing else of its kind is read: that takes a right to this one only. */
class Single<O extends KubeObject> {
  #object: O | undefined;
  known = false;

  constructor(private readonly props: SingleProps) {}

  get object(): O | undefined {
    return this.#object;
  }

  get kind(): ObjectKind {
    return this.props.kind;
  }

  run(signal: AbortSignal): Promise<void> {
    const { client, kind, name, namespace, log } = this.props;
    return new Reflector({
      client,
      path: resourcePath(kind, namespace),
      fieldSelector: `metadata.name=${name}`,
      sink: {
        replace: (objects) => this.#set(objects[0] as O | undefined),
        upsert: (object) => this.#set(object as O),
        remove: () => this.#set(undefined),
      },
      signal,
      now: () => performance.now(),
      random: Math.random,
      onRestart: (reason, error) => {
        log[reason === 'Expired' ? 'debug' : 'warn']('a watch begins again', {
          kind: kind.kind,
          reason,
          error,
        });
      },
    }).run();
  }

  /** Takes in the answer to a write, which the watch brings later. */
  remember(object: O): void {
    this.#object = object;
  }

  #set(object: O | undefined): void {
    this.known = true;
    this.#object = object;
    this.props.changed();
  }
}

function pathOf(kind: ObjectKind, name: string, namespace?: string): string {
  return resourcePath(kind, namespace, name);
}
