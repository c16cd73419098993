import { OPERATOR } from '../../constructs/index.js';
import { outsideName } from '../../constructs/kit/operator-identity.js';
import type { KubeObject } from '../../constructs/kit/object.js';
import { Secret, type ObjectKind } from '../../constructs/kit/object-kind.js';
import { ApiError } from '../api/api-error.js';
import { type Client, JSON_PATCH } from '../api/client.js';
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
} from './webhook-objects.js';

export interface CaInjectorProps {
  readonly client: Pick<Client, 'request' | 'watch'>;
  /** The operator's own namespace. */
  readonly namespace: string;
  /** DNS names and IPv4 addresses of the server. */
  readonly hosts: readonly string[];
  /** Called with the keys to serve, first and whenever they change. */
  readonly onKeys: (keys: WebhookKeys) => void;
  readonly log: Logger;
}

/** Every API server watches the configurations, and loads a new bundle within this. */
const SETTLE_MS = 10_000;
const CHECK_MS = 3_600_000;
const RETRY_MS = 5_000;
/** Conflicts in a row after which the cause is not another replica. */
const MOST_CONFLICTS = 4;
const CONFIGURATIONS = [ValidatingWebhookConfiguration, MutatingWebhookConfiguration] as const;

/**
 * Maintains the keys of the webhooks in a Secret, and their authority in the webhook configurations, if
 * these exist; it never creates them. Every replica does so, since every replica serves: each write
 * derives from the Secret alone, so a second write changes nothing or is refused.
 */
export class CaInjector {
  readonly #stop = new AbortController();
  readonly #secret: WatchedObject<KeySecret>;
  readonly #configurations: readonly WatchedObject<WebhookConfiguration>[];
  #keys: WebhookKeys | undefined;
  /** The bundle in all configurations, and since when, in monotonic milliseconds. */
  #published: { readonly bundle: string; readonly since: number } | undefined;
  #running = false;
  #again = false;
  #lastWarning = '';
  /** Conflicts in a row. */
  #conflicts = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly props: CaInjectorProps) {
    const watched = <O extends KubeObject>(kind: ObjectKind, name: string, namespace?: string) =>
      new WatchedObject<O>({ ...props, kind, name, namespace, changed: () => this.#enqueue() });
    this.#secret = watched<KeySecret>(Secret, OPERATOR.webhookSecret, props.namespace);
    this.#configurations = CONFIGURATIONS.map((kind) =>
      watched<WebhookConfiguration>(
        kind,
        outsideName(OPERATOR.webhookConfiguration, props.namespace),
      ),
    );
  }

  start(): void {
    for (const one of [this.#secret, ...this.#configurations]) void one.run(this.#stop.signal);
  }

  stop(): void {
    this.#stop.abort();
    clearTimeout(this.#timer);
  }

  /** Why the webhooks are not ready; empty once they are. */
  problems(): readonly string[] {
    return this.#keys ? [] : [`Secret ${OPERATOR.webhookSecret}: no keys yet`];
  }

  /** One reconcile at a time: each sees the writes of the one before. */
  #enqueue(): void {
    this.#again = true;
    if (this.#running) return;
    this.#running = true;
    void this.#run().finally(() => {
      this.#running = false;
    });
  }

  async #run(): Promise<void> {
    clearTimeout(this.#timer);
    let next = CHECK_MS;
    while (this.#again && !this.#stop.signal.aborted) {
      this.#again = false;
      try {
        next = await this.#reconcile();
        this.#lastWarning = '';
        this.#conflicts = 0;
      } catch (error) {
        next = RETRY_MS;
        // Another replica was faster: the watch delivers its change.
        const conflict = error instanceof ApiError && [404, 409, 422].includes(error.status);
        if (conflict && ++this.#conflicts < MOST_CONFLICTS) continue;
        const what = error instanceof Error ? error.message : '';
        if (what !== this.#lastWarning)
          this.props.log.warn('webhook certificates not updated', { error });
        this.#lastWarning = what;
      }
    }
    if (this.#stop.signal.aborted) return;
    this.#timer = setTimeout(() => this.#enqueue(), next);
    this.#timer.unref();
  }

  /** @returns milliseconds until the next one is due */
  async #reconcile(): Promise<number> {
    if (!this.#secret.known) return RETRY_MS;
    await this.#updateSecret();
    const { bundle } = this.#keys ?? {};
    if (bundle === undefined) return RETRY_MS;
    await this.#publish(bundle);
    const since = this.#published?.bundle === bundle ? this.#published.since : undefined;
    if (since === undefined) return RETRY_MS;
    const rest = since + SETTLE_MS - performance.now();
    if (rest > 0) return rest;
    return (await this.#updateSecret()) ? RETRY_MS : CHECK_MS;
  }

  /** @returns whether it was changed */
  async #updateSecret(): Promise<boolean> {
    const { client, namespace, hosts, log } = this.props;
    const found = this.#secret.object;
    const now = Date.now();
    const stored = keysOf(found, now);
    if (stored) this.#use(stored);
    // If the Secret was deleted, a new authority is added, and the present certificate stays trusted.
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
    log.info('webhook certificates updated', {
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

  /** Writes the bundle into the existing configurations. */
  async #publish(bundle: string): Promise<void> {
    let known = true;
    for (const configuration of this.#configurations) {
      known &&= configuration.known;
      const { object, kind, name } = configuration;
      const patch = object && bundlePatch(object, bundle);
      if (!patch) continue;
      const path = pathOf(kind, name);
      configuration.remember(
        await this.props.client.request<WebhookConfiguration>('PATCH', path, {
          query: { fieldManager: FIELD_MANAGER },
          contentType: JSON_PATCH,
          body: patch,
        }),
      );
      this.props.log.info('webhook configuration updated', {
        kind: kind.kind,
        name,
      });
    }
    if (known && this.#published?.bundle !== bundle) {
      this.#published = { bundle, since: performance.now() };
    }
  }
}

interface WatchedObjectProps extends Pick<CaInjectorProps, 'client' | 'log'> {
  readonly kind: ObjectKind;
  readonly name: string;
  /** Undefined if the kind is cluster-scoped. */
  readonly namespace: string | undefined;
  readonly changed: () => void;
}

/** One watched object. No other object of its kind is read, which needs the permission for this one only. */
class WatchedObject<O extends KubeObject> {
  #object: O | undefined;
  known = false;

  constructor(private readonly props: WatchedObjectProps) {}

  get object(): O | undefined {
    return this.#object;
  }

  get kind(): ObjectKind {
    return this.props.kind;
  }

  get name(): string {
    return this.props.name;
  }

  run(signal: AbortSignal): Promise<void> {
    const { client, kind, name, namespace, log } = this.props;
    return new Reflector({
      client,
      path: resourcePath(kind, namespace),
      fieldSelector: `metadata.name=${name}`,
      sink: {
        replace: (objects) => {
          this.#set(objects[0] as O | undefined);
          return undefined;
        },
        upsert: (object) => this.#set(object as O),
        remove: () => this.#set(undefined),
      },
      signal,
      now: () => performance.now(),
      random: Math.random,
      onRestart: (reason, error) => {
        log[reason === 'Expired' ? 'debug' : 'warn']('watch restarted', {
          kind: kind.kind,
          reason,
          error,
        });
      },
    }).run();
  }

  /** Puts in the response to a write, which the watch delivers later. */
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
