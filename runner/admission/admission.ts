import { setTimeout as sleep } from 'node:timers/promises';
import { API_VERSION } from '../../constructs/kit/definition.js';
import type { Problem } from '../../constructs/kit/errors.js';
import type { ClusterReader } from '../../constructs/kit/kind.js';
import type { Resource } from '../../constructs/kit/object.js';
import type { AnyKind } from '../../constructs/registry.js';
import type { Logger } from '../telemetry/log.js';
import { normalize } from './normalize.js';
import { type AdmissionRequest, type AdmissionResponse, refusal } from './review.js';
import {
  deletionWarnings,
  validate,
  type AdmissionChange,
  type AdmissionResult,
} from './validate.js';

export interface AdmissionProps {
  readonly kinds: readonly AnyKind[];
  readonly group: string;
  /** The namespaces that are watched; every one when empty. */
  readonly namespaces: readonly string[];
  /** What is known of everything else; undefined until that has been read. */
  readonly reader: () => ClusterReader | undefined;
  readonly log: Logger;
}

/** What was made or deleted a moment ago, such as the bench before its site, takes this long to be heard of. */
const NEWS_MS = 200;

/** Of a refusal, fields that are logged. */
const FIELDS = 20;
/** The API server cuts longer warnings, and shows few. */
const WARNING = { most: 8, length: 256 };

/** Answers the API server's questions about the operator's resources. What is not its own passes. */
export class Admission {
  constructor(private readonly props: AdmissionProps) {}

  /** Says what is wrong with a change, and what its author should know. */
  async validate(request: AdmissionRequest): Promise<AdmissionResponse> {
    const change = this.#changeOf(request);
    if (!change) return allow(request);
    if (request.operation === 'DELETE') return allow(request, deletionWarnings(change));
    let statusResult = validate(change);
    if (statusResult.unsure) {
      await sleep(NEWS_MS);
      statusResult = validate({ ...change, reader: this.props.reader() });
    }
    return this.#answer(request, change, statusResult);
  }

  /** Brings fields to their normal form, and says so. */
  mutate(request: AdmissionRequest): AdmissionResponse {
    const change = this.#changeOf(request);
    if (!change || request.operation === 'DELETE') return allow(request);
    const patch = normalize(change.object, change.kind.normal ?? []);
    if (patch.length === 0) return allow(request);
    const stored = patch.map(({ path, value }) => ({
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

  /** undefined where it is not ours to judge. */
  #changeOf(request: AdmissionRequest): AdmissionChange | undefined {
    const { kinds, group, namespaces, reader } = this.props;
    const { kind: asked, namespace, operation, subResource, object, oldObject } = request;
    const kind = kinds.find(({ definition }) => definition.kind === asked.kind);
    if (!kind || asked.group !== group || asked.version !== API_VERSION || subResource) return;
    if (!['CREATE', 'UPDATE', 'DELETE'].includes(operation)) return;
    if (namespaces.length > 0 && !namespaces.includes(namespace ?? '')) return;
    const old = (oldObject ?? undefined) as Resource | undefined;
    const now = (object ?? undefined) as Resource | undefined;
    const subject = now ?? old;
    if (!subject) return;
    return { kind, group, object: placed(subject, namespace), old, reader: reader() };
  }

  #answer(
    request: AdmissionRequest,
    { object, kind, group }: AdmissionChange,
    { problems, warnings }: AdmissionResult,
  ): AdmissionResponse {
    if (problems.length === 0) return allow(request, warnings);
    const { name, namespace } = object.metadata;
    // Which fields, but not what is in them.
    this.props.log.info('a change is refused', {
      kind: kind.definition.kind,
      namespace,
      name,
      operation: request.operation,
      fields: problems.slice(0, FIELDS).map(({ path }) => path),
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
  // They travel in a header, where no control character may be.
  const line = `${path}: ${message}`.replace(/\p{Cc}+/gu, ' ');
  return line.length > WARNING.length ? `${line.slice(0, WARNING.length - 1)}…` : line;
}

/** With its name and namespace, which the API server knows by the request. */
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
