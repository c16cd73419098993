import { isAllowed, type UserInfo } from '../api/access-review.js';
import { keepNewest } from '../kit/keep-newest.js';
import { createHash } from 'node:crypto';
import type { AnyKind } from '../../constructs/registry.js';
import { objectKind } from '../../constructs/kit/definition.js';
import { groupOf } from '../../constructs/kit/object.js';
import type { ObjectKind } from '../../constructs/kit/object-kind.js';
import type { Client } from '../api/client.js';
import { Gate } from './gate.js';
import type { Logger } from '../telemetry/log.js';

/** A read that an answer depends on. */
export interface Read {
  readonly verb: 'get' | 'list';
  readonly kind: string;
  readonly namespace: string;
  /** Of one object; undefined for all of the namespace. */
  readonly name?: string;
}

export interface AuthorAccessProps {
  readonly client: Pick<Client, 'request'>;
  readonly kinds: readonly AnyKind[];
  readonly group: string;
  readonly log: Logger;
  /** Monotonic, in milliseconds. */
  readonly now?: () => number;
}

/** Reviews at the same time, which need as many connections. */
export const REVIEW_CONNECTIONS = 16;

/** The authorizer of an API server caches as long at least. */
const CACHE_MS = 10_000;
const CACHE_SIZE = 1_024;
/** Within the three seconds that an API server waits for a webhook. */
const REVIEW_TIMEOUT_MS = 1_000;
/** A change asks about up to 32 names of a kind, one by one. */
const REVIEWS = {
  ...{ most: REVIEW_CONNECTIONS, mostOfOne: REVIEW_CONNECTIONS / 4, queue: 256, waitMs: 1_000 },
  message: 'too many questions for the rights of authors at once',
};

/** Asks the cluster what the authors of changes may read; decisions are kept for ten seconds. */
export class AuthorAccess {
  readonly #kinds: ReadonlyMap<string, ObjectKind>;
  readonly #gate = new Gate(REVIEWS);
  readonly #cache = new Map<
    string,
    { readonly allowed: Promise<boolean>; readonly until: number }
  >();

  constructor(private readonly props: AuthorAccessProps) {
    const { kinds, group } = props;
    const all = kinds.flatMap(({ definition, owns, reads }) => [
      objectKind(definition, group),
      ...owns,
      ...reads,
    ]);
    this.#kinds = new Map(all.map((kind) => [kind.kind, kind]));
  }

  /**
   * Whether the author may read it.
   * @throws where the cluster gives no decision
   */
  async allows(author: UserInfo, read: Read): Promise<boolean> {
    const kind = this.#kinds.get(read.kind);
    // No API serves it, so no rule allows it.
    if (!kind || !author.username) return false;
    const { name, ...all } = read;
    // Most roles name no objects: one answer serves all of a namespace.
    if (await this.#asked(author, kind, all)) return true;
    return name !== undefined && this.#asked(author, kind, read);
  }

  #asked(author: UserInfo, kind: ObjectKind, read: Read): Promise<boolean> {
    const { username: user, uid, groups, extra } = author;
    const resourceAttributes = {
      group: groupOf(kind.apiVersion),
      version: kind.apiVersion.split('/').at(-1),
      resource: kind.plural,
      verb: read.verb,
      ...(kind.clusterScoped || read.namespace === '' ? {} : { namespace: read.namespace }),
      ...(read.name === undefined ? {} : { name: read.name }),
    };
    const spec = { user, uid, groups, extra, resourceAttributes };
    const key = createHash('sha256').update(JSON.stringify(spec)).digest('base64');
    const { now = () => performance.now() } = this.props;
    const known = this.#cache.get(key);
    if (known && now() < known.until) return known.allowed;
    const allowed = this.#review(spec, read.namespace);
    const asked = { allowed, until: now() + CACHE_MS };
    this.#cache.delete(key);
    this.#cache.set(key, asked);
    keepNewest(this.#cache, CACHE_SIZE);
    // No decision is none that could be kept.
    allowed.catch(() => this.#cache.get(key) === asked && this.#cache.delete(key));
    return allowed;
  }

  async #review(spec: object, namespace: string): Promise<boolean> {
    const leave = await this.#gate.enter(namespace);
    try {
      return await isAllowed(this.props.client, spec, REVIEW_TIMEOUT_MS);
    } catch (error) {
      this.props.log.warn('access of an author not reviewed: objects stay hidden', { error });
      throw error;
    } finally {
      leave();
    }
  }
}
