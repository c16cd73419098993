import { OPERATOR, outsideName } from '../../constructs/kit/operator-identity.js';
import { messageOf } from '../../constructs/kit/errors.js';
import type { KubeObject } from '../../constructs/kit/object.js';
import { Secret, type ObjectKind } from '../../constructs/kit/object-kind.js';
import { ApiError } from '../api/api-error.js';
import { type Client, JSON_PATCH } from '../api/client.js';
import { resourcePath } from '../api/resource-path.js';
import { FIELD_MANAGER } from '../cache/child.js';
import { Reflector } from '../cache/reflector.js';
import { WorkQueue } from '../queue/workqueue.js';
import type { Logger } from '../telemetry/log.js';
import {
  bundlePatch,
  keysOf,
  type KeySecret,
  MutatingWebhookConfiguration,
  newKeys,
  secretOf,
  ValidatingWebhookConfiguration,
  type WebhookConfiguration,
  type WebhookKeys,
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

const CHECK_MS = 3_600_000;
/** Conflicts in a row after which the cause is not another replica. */
const MAX_CONFLICTS = 4;
const CONFIGURATIONS = [ValidatingWebhookConfiguration, MutatingWebhookConfiguration] as const;
/** The one key of the queue. */
const KEYS = 'keys';

/**
 * Maintains the keys of the webhooks in a Secret, and what is trusted in the webhook configurations, if
 * these exist; it never creates them. Every replica does so, since every replica serves: each write
 * derives from the Secret alone, so a second write changes nothing or is refused. New keys fail calls
 * for the moment in which not all replicas and API servers have them: the webhooks are advice.
 */
export class CaInjector {
  readonly #stop = new AbortController();
  readonly #secret: WatchedObject<KeySecret>;
  readonly #configurations: readonly WatchedObject<WebhookConfiguration>[];
  /** One reconcile at a time: each sees the writes of the one before. */
  readonly #queue = new WorkQueue({
    work: () => this.#work(),
    concurrency: 1,
    now: () => performance.now(),
    random: Math.random,
  });
  #keys: WebhookKeys | undefined;
  #lastWarning = '';

  constructor(private readonly props: CaInjectorProps) {
    const watched = <O extends KubeObject>(kind: ObjectKind, name: string, namespace?: string) =>
      new WatchedObject<O>({
        ...props,
        kind,
        name,
        namespace,
        changed: () => this.#queue.add(KEYS),
      });
    this.#secret = watched<KeySecret>(Secret, OPERATOR.webhookSecret, props.namespace);
    this.#configurations = CONFIGURATIONS.map((kind) =>
      watched<WebhookConfiguration>(
        kind,
        outsideName(OPERATOR.webhookConfiguration, props.namespace),
      ),
    );
  }

  start(): void {
    this.#queue.start();
    for (const one of [this.#secret, ...this.#configurations]) void one.run(this.#stop.signal);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#queue.stop();
  }

  /** Why the webhooks are not ready; empty once they are. */
  problems(): readonly string[] {
    return this.#keys ? [] : [`Secret ${OPERATOR.webhookSecret}: no keys yet`];
  }

  async #work(): Promise<void> {
    try {
      await this.#reconcile();
      this.#lastWarning = '';
      this.#queue.addAfter(KEYS, CHECK_MS);
    } catch (error) {
      // Another replica was faster: the watch delivers its change.
      const conflict = error instanceof ApiError && [404, 409, 422].includes(error.status);
      const isExpected = conflict && this.#queue.failures(KEYS) + 1 < MAX_CONFLICTS;
      const what = messageOf(error);
      if (!isExpected && what !== this.#lastWarning) {
        this.#lastWarning = what;
        this.props.log.warn('webhook certificates not updated', { error });
      }
      throw error;
    }
  }

  async #reconcile(): Promise<void> {
    if (!this.#secret.known) return;
    const stored = keysOf(this.#secret.object, this.props.hosts, Date.now());
    const keys = stored ?? (await this.#renew());
    const isNew = keys.cert !== this.#keys?.cert;
    this.#keys = keys;
    if (isNew) this.props.onKeys(keys);
    for (const configuration of this.#configurations) await this.#publish(configuration, keys);
  }

  async #renew(): Promise<WebhookKeys> {
    const { client, namespace, hosts, log } = this.props;
    const found = this.#secret.object;
    const keys = newKeys(hosts, Date.now());
    const body = secretOf(keys, namespace, found);
    const written = found
      ? await client.request<KeySecret>('PUT', pathOf(Secret, OPERATOR.webhookSecret, namespace), {
          body,
        })
      : await client.request<KeySecret>('POST', resourcePath(Secret, namespace), { body });
    this.#secret.remember(written);
    log.info('webhook certificates updated');
    return keys;
  }

  /** Writes the bundle into a configuration, if it exists. */
  async #publish(
    configuration: WatchedObject<WebhookConfiguration>,
    { bundle }: WebhookKeys,
  ): Promise<void> {
    const { object, kind, name } = configuration;
    const patch = object && bundlePatch(object, bundle);
    if (!patch) return;
    configuration.remember(
      await this.props.client.request<WebhookConfiguration>('PATCH', pathOf(kind, name), {
        query: { fieldManager: FIELD_MANAGER },
        contentType: JSON_PATCH,
        body: patch,
      }),
    );
    this.props.log.info('webhook configuration updated', { kind: kind.kind, name });
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
