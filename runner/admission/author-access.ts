import { isAllowed, type UserInfo } from '../api/access-review.js';
import { keepNewest } from '../keep-newest.js';
import { createHash } from 'node:crypto';
import type { AnyKind } from '../../constructs/registry.js';
import { objectKind } from '../../constructs/kit/definition.js';
import { groupOf } from '../../constructs/kit/object.js';
import type { ObjectKind } from '../../constructs/kit/object-kind.js';
import type { Client } from '../api/client.js';
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

/** The authorizer of an API server caches as long at least. */
const CACHE_MS = 10_000;
const CACHE_SIZE = 1_024;
/** Within the three seconds that an API server waits for a webhook. */
const REVIEW_TIMEOUT_MS = 1_000;

/** Asks the cluster what the authors of changes may read; answers are kept for ten seconds. */
export class AuthorAccess {
  readonly #kinds: ReadonlyMap<string, ObjectKind>;
  readonly #cache = new Map<
    string,
    { readonly allowed: Promise<boolean>; readonly until: number }
  >();

  constructor(private readonly props: AuthorAccessProps) {
    const { kinds, group } = props;
    const all = kinds.flatMap(({ definition, owns, reads, readsChildren = [] }) => [
      objectKind(definition, group),
      ...owns,
      ...reads,
      ...readsChildren,
    ]);
    this.#kinds = new Map(all.map((kind) => [kind.kind, kind]));
  }

  /** Whether the author may read it. Without an answer of the cluster, it may not. */
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
    const allowed = this.#review(spec);
    this.#cache.delete(key);
    this.#cache.set(key, { allowed, until: now() + CACHE_MS });
    keepNewest(this.#cache, CACHE_SIZE);
    return allowed;
  }

  async #review(spec: object): Promise<boolean> {
    try {
      return await isAllowed(this.props.client, spec, REVIEW_TIMEOUT_MS);
    } catch (error) {
      this.props.log.warn('access of an author not reviewed: objects stay hidden', { error });
      return false;
    }
  }
}
