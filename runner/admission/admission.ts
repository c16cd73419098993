import { setTimeout as sleep } from 'node:timers/promises';
import { API_VERSION } from '../../constructs/kit/definition.js';
import type { Problem } from '../../constructs/kit/errors.js';
import type { ClusterReader } from '../../constructs/kit/kind.js';
import type { Resource } from '../../constructs/kit/object.js';
import type { Settings } from '../../constructs/kit/operator-settings.js';
import type { AnyKind } from '../../constructs/registry.js';
import type { Logger } from '../telemetry/log.js';
import { NamespaceReader } from './namespace-reader.js';
import { normalize } from './normalize.js';
import { type AdmissionRequest, type AdmissionResponse, refusal, shortened } from './review.js';
import { deletionWarnings, validate, type AdmissionChange } from './validate.js';

export interface AdmissionProps {
  readonly kinds: readonly AnyKind[];
  readonly group: string;
  /** The namespaces that are watched; every one when empty. */
  readonly namespaces: readonly string[];
  /** Reads all other objects; undefined until the caches are synced. */
  readonly reader: () => ClusterReader | undefined;
  /** What the operator's administrator decides. @default DEFAULT_SETTINGS */
  readonly settings?: Settings;
  readonly log: Logger;
}

/** The caches receive an object that was just created, such as a parent before its child, within this. */
const CACHE_DELAY_MS = 200;

/** The most fields of a refusal that are logged, and the most characters of a name. */
const LOGGED = { fields: 20, name: 253 } as const;
/** The most operations of a patch: more are of an object from before there were bounds. */
const MAX_PATCHED = 1_000;
/** The API server truncates longer warnings, and shows few. */
const WARNING = { most: 8, length: 256 };

/**
 * Advises on changes of the operator's resources. What it does not see is reported by the reconcile, and what
 * must hold is in the admission policies of the API server. All other resources are allowed.
 */
export class Admission {
  constructor(private readonly props: AdmissionProps) {}

  /** Validates a change: problems refuse it, warnings are shown to its author. */
  async validate(request: AdmissionRequest): Promise<AdmissionResponse> {
    const change = this.#changeOf(request);
    if (!change) return allow(request);
    if (request.operation === 'DELETE') return allow(request, deletionWarnings(change));
    let result = validate(change);
    if (result.unsure) {
      await sleep(CACHE_DELAY_MS);
      result = validate({ ...change, reader: this.#readerOf(request) });
    }
    const { problems, warnings } = result;
    return problems.length > 0 ? this.#refuse(request, change, problems) : allow(request, warnings);
  }

  /** Brings fields to their normal form, with a warning for each. */
  mutate(request: AdmissionRequest): AdmissionResponse {
    const change = this.#changeOf(request);
    if (!change || request.operation === 'DELETE') return allow(request);
    const patch = normalize(change.object, change.kind.normal ?? []);
    if (patch.length === 0 || patch.length > MAX_PATCHED) return allow(request);
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

  /** Undefined if the change is not reviewed. */
  #changeOf(request: AdmissionRequest): AdmissionChange | undefined {
    const { group, settings } = this.props;
    const kind = this.#kindOf(request);
    const old = (request.oldObject ?? undefined) as Resource | undefined;
    const now = (request.object ?? undefined) as Resource | undefined;
    const subject = now ?? old;
    if (!kind || !subject) return undefined;
    const object = placed(subject, request.namespace);
    const reader = this.#readerOf(request);
    return { kind, group, object, old, reader, ...(settings ? { settings } : {}) };
  }

  #readerOf({ namespace = '' }: AdmissionRequest): ClusterReader | undefined {
    const reader = this.props.reader();
    return reader && new NamespaceReader(reader, namespace);
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
