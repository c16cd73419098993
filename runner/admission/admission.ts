import { aborted } from '../kit/aborted.js';
import type { UserInfo } from '../api/access-review.js';
import { setTimeout as sleep } from 'node:timers/promises';
import { API_VERSION } from '../../constructs/kit/definition.js';
import type { Problem } from '../../constructs/kit/errors.js';
import type { ClusterReader } from '../../constructs/kit/kind.js';
import type { Resource } from '../../constructs/kit/object.js';
import type { Settings } from '../../constructs/kit/operator-settings.js';
import type { AnyKind } from '../../constructs/registry.js';
import { oversize } from '../../constructs/kit/schema/admit.js';
import type { Logger } from '../telemetry/log.js';
import { AuthorReader, keyOfRead } from './author-reader.js';
import type { Read } from './author-access.js';
import { Busy, Gate } from './gate.js';
import { givesToPods, unreadable } from './given-to-pods.js';
import { normalize } from './normalize.js';
import {
  type AdmissionRequest,
  type AdmissionResponse,
  refusal,
  shortened,
  tryAgain,
} from './review.js';
import { deletionWarnings, validate, type AdmissionChange } from './validate.js';

export interface AdmissionProps {
  readonly kinds: readonly AnyKind[];
  readonly group: string;
  /** The namespaces that are watched; every one when empty. */
  readonly namespaces: readonly string[];
  /** Reads all other objects; undefined until the caches are synced. */
  readonly reader: () => ClusterReader | undefined;
  /** Whether an author may read what the answer depends on; rejects without a decision. */
  readonly mayRead: (author: UserInfo, read: Read) => Promise<boolean>;
  /** What the operator's administrator decides. @default DEFAULT_SETTINGS */
  readonly settings?: Settings;
  readonly log: Logger;
}

/** The caches receive an object that was just created, such as a parent before its child, within this. */
const CACHE_DELAY_MS = 200;

/** The most fields of a refusal that are logged, and the most characters of a name. */
const LOGGED = { fields: 20, name: 253 } as const;
/** The first problems of length; a response shows ten of all. */
const OVERSIZE = 11;
/** The most rounds of questions what an author may read: each resolves what the one before hid. */
const ROUNDS = 16;
/** The most operations of a patch: more are of an object from before there were bounds. */
const MOST_PATCHED = 1_000;
/** The API server truncates longer warnings, and shows few. */
const WARNING = { most: 8, length: 256 };

type MayRead = (read: Read) => Promise<boolean>;

/** Reviews at the same time; most take a millisecond, and some wait for the API server. */
const REVIEWS = {
  ...{ most: 64, mostOfOne: 16, queue: 32, waitMs: 500 },
  message: 'too many reviews at once; try again',
};
/** Of a review: with the wait before it, it ends within the three seconds of the API server. */
const REVIEW_MS = 1_500;
const NOT_REVIEWED =
  'there was no answer in time whether you may get what this change gives to pods; try again';

/** Reviews changes of the operator's resources. All other resources are allowed. */
export class Admission {
  readonly #gate = new Gate(REVIEWS);

  constructor(private readonly props: AdmissionProps) {}

  /**
   * Validates a change: problems refuse it, warnings are shown to its author. What is not reviewed in
   * time is refused where it gives objects to pods: nothing else checks who may get these.
   * @throws Busy
   */
  async validate(request: AdmissionRequest): Promise<AdmissionResponse> {
    const change = this.#changeOf(request);
    if (!change) return allow(request);
    try {
      const leave = await this.#gate.enter(request.namespace ?? '');
      try {
        return await this.#review(request, change, this.#rightsOf(request));
      } finally {
        leave();
      }
    } catch (error) {
      if (!(error instanceof Busy) || !givesToPods(change)) throw error;
      return tryAgain(request.uid, error.message);
    }
  }

  async #review(
    request: AdmissionRequest,
    change: AdmissionChange,
    mayRead: MayRead,
  ): Promise<AdmissionResponse> {
    if (request.operation === 'DELETE') {
      return allow(request, await this.#asAuthor(change, mayRead, deletionWarnings));
    }
    const tooLong = oversizeOf(change);
    if (tooLong.length > 0) return this.#refuse(request, change, tooLong);
    let result = await this.#asAuthor(change, mayRead, validate);
    if (result.unsure) {
      await sleep(CACHE_DELAY_MS);
      const later = { ...change, reader: this.props.reader() };
      result = await this.#asAuthor(later, mayRead, validate);
    }
    const { warnings } = result;
    const problems =
      result.problems.length > 0 ? result.problems : await unreadable(change, mayRead);
    return problems.length > 0 ? this.#refuse(request, change, problems) : allow(request, warnings);
  }

  /** Asks what an author may read, for a bounded time in all. */
  #rightsOf({ userInfo = {} }: AdmissionRequest): MayRead {
    const end = AbortSignal.timeout(REVIEW_MS);
    const late = aborted(end).then((): never => {
      throw new Busy(NOT_REVIEWED);
    });
    // It comes after the last question, too.
    late.catch(() => undefined);
    return async (read) => {
      try {
        end.throwIfAborted();
        return await Promise.race([this.props.mayRead(userInfo, read), late]);
      } catch {
        throw new Busy(NOT_REVIEWED);
      }
    };
  }

  /** Brings fields to their normal form, with a warning for each. */
  mutate(request: AdmissionRequest): AdmissionResponse {
    const change = this.#changeOf(request);
    if (!change || request.operation === 'DELETE') return allow(request);
    const tooLong = oversizeOf(change);
    if (tooLong.length > 0) return this.#refuse(request, change, tooLong);
    const patch = normalize(change.object, change.kind.normal ?? []);
    if (patch.length === 0 || patch.length > MOST_PATCHED) return allow(request);
    const stored = patch.slice(0, WARNING.most).map(({ path, value }) => ({
      path: path
        .slice(1)
        .replaceAll(/[/]([0-9]+)/g, '[$1]')
        .replaceAll('/', '.'),
      message: `is stored as "${value}"`,
    }));
    return {
      ...allow(request, stored),
      patchType: 'JSONPatch',
      patch: Buffer.from(JSON.stringify(patch)).toString('base64'),
    };
  }

  /**
   * What follows from a change and from what its author may read. Whatever is read is hidden until
   * the cluster has allowed it: neither the response nor its time depends on more.
   */
  async #asAuthor<T>(
    change: AdmissionChange,
    mayRead: MayRead,
    work: (change: AdmissionChange) => T,
  ): Promise<T> {
    const { reader } = change;
    if (!reader) return work(change);
    const decisions = new Map<string, boolean>();
    for (let round = 1; ; round++) {
      const own = new AuthorReader(reader, change.object.metadata.namespace ?? '', decisions);
      const result = work({ ...change, reader: own });
      if (own.undecided.size === 0 || round === ROUNDS) return result;
      await Promise.all(
        [...own.undecided.values()].map(async (read) => {
          decisions.set(keyOfRead(read), await mayRead(read).catch(() => false));
        }),
      );
    }
  }

  /** Undefined if the change is not reviewed. */
  #changeOf(request: AdmissionRequest): AdmissionChange | undefined {
    const { group, reader, settings } = this.props;
    const kind = this.#kindOf(request);
    const old = (request.oldObject ?? undefined) as Resource | undefined;
    const now = (request.object ?? undefined) as Resource | undefined;
    const subject = now ?? old;
    if (!kind || !subject) return undefined;
    const object = placed(subject, request.namespace);
    return { kind, group, object, old, reader: reader(), ...(settings ? { settings } : {}) };
  }

  /** The kind of a request; undefined if it is not reviewed. */
  #kindOf({ kind, namespace, operation, subResource }: AdmissionRequest): AnyKind | undefined {
    const { kinds, group, namespaces } = this.props;
    if (kind.group !== group || kind.version !== API_VERSION || subResource) return undefined;
    if (!['CREATE', 'UPDATE', 'DELETE'].includes(operation)) return undefined;
    if (namespaces.length > 0 && !namespaces.includes(namespace ?? '')) return undefined;
    return kinds.find(({ definition }) => definition.kind === kind.kind);
  }

  #refuse(
    request: AdmissionRequest,
    { object, kind, group }: AdmissionChange,
    problems: readonly Problem[],
  ): AdmissionResponse {
    const { name, namespace } = object.metadata;
    // The fields, but not their values, which may be secret.
    this.props.log.info('change refused', {
      kind: kind.definition.kind,
      namespace,
      name: shortened(name, LOGGED.name),
      operation: request.operation,
      fields: problems.slice(0, LOGGED.fields).map(({ path }) => shortened(path, LOGGED.name)),
    });
    return {
      uid: request.uid,
      allowed: false,
      status: refusal({ group, kind: kind.definition.kind, name }, problems),
    };
  }
}

/** What is too long in a change that is reviewed at all. */
function oversizeOf({ kind, object, old }: AdmissionChange): readonly Problem[] {
  if (object.metadata.deletionTimestamp !== undefined) return [];
  return oversize(kind.definition, object, OVERSIZE, old);
}

function allow({ uid }: AdmissionRequest, warnings: readonly Problem[] = []): AdmissionResponse {
  if (warnings.length === 0) return { uid, allowed: true };
  return { uid, allowed: true, warnings: warnings.slice(0, WARNING.most).map(warningOf) };
}

function warningOf({ path, message }: Problem): string {
  // Warnings are sent in a header, which may not contain control characters.
  return shortened(`${path}: ${message}`.replace(/\p{Cc}+/gu, ' '), WARNING.length);
}

/** The object with the name and the namespace of the request. */
function placed(object: Resource, namespace: string | undefined): Resource {
  const { name, generateName } = object.metadata as Resource['metadata'] & {
    readonly generateName?: string;
  };
  const place = namespace === undefined ? {} : { namespace };
  return {
    ...object,
    metadata: { ...object.metadata, name: name || (generateName ?? ''), ...place },
  };
}
