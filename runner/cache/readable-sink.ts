import { defined } from '../../constructs/kit/json/defined.js';
import { pickBySuffix } from '../../constructs/kit/json/pick-by-suffix.js';
import { MANAGED_BY, MANAGED_BY_LABEL } from '../../constructs/kit/labels.js';
import { dataEdits } from '../../constructs/kit/secret-values.js';
import {
  DATABASE_GRANT,
  GENERATED_ID,
  OWNER,
  SERVER_IMAGE,
} from '../../constructs/kit/metadata-keys.js';
import {
  keyOfObject,
  type KubeObject,
  type ObjectKey,
  type Resource,
  namespaceOfKey,
} from '../../constructs/kit/object.js';
import type { ObjectKind } from '../../constructs/kit/object-kind.js';
import { identityOf } from './child-cache.js';
import { MAX_CHARACTERS } from './kept-metadata.js';
import { forEachKey, type Sink } from './reflector.js';
import type { DependencyTracker } from './dependencies.js';

/**
 * The sink of a kind that is both a child and read by other resources, such as Secret: children are
 * passed to the child cache, and what kinds may read of all objects to the dependency tracker.
 */
export function readableSink(
  kind: Pick<ObjectKind, 'kind' | 'content'>,
  dependencies: DependencyTracker,
  children: Sink,
  inScope: (namespace: string) => boolean,
): Sink {
  const read = referenceSink(kind, dependencies, inScope);
  return {
    compact: (object) => {
      const identity =
        (isChild(object) ? children.compact?.(object) : undefined) ?? identityOf(object);
      read.keep(identity, object);
      return identity;
    },
    replace: async (objects, version, how) => {
      await read.replace(objects, version, how);
      await children.replace(objects.filter(isChild), version, how);
    },
    upsert: (object) => {
      read.upsert(object);
      // Without its label it is no longer a known child: the applier reads it again.
      if (isChild(object)) children.upsert(object);
      else children.remove(object);
    },
    remove: (object) => {
      read.remove(object);
      children.remove(object);
    },
  };
}

/** The sink of a kind that is only read: it keeps no more than kinds may read. */
export function referenceSink(
  kind: Pick<ObjectKind, 'kind' | 'content'>,
  dependencies: DependencyTracker,
  inScope: (namespace: string) => boolean,
): Sink & { readonly keep: (identity: KubeObject, object: KubeObject) => void } {
  const readable = reductionOf(kind);
  /** What kinds may read of objects that were compacted. */
  const kept = new WeakMap<KubeObject, KubeObject>();
  const update = (key: ObjectKey, object: KubeObject | undefined): void => {
    const after = object && (kept.get(object) ?? readable(object));
    dependencies.update(kind.kind, key, after);
  };
  const upsert = (object: KubeObject): void => {
    update(keyOfObject(object), object);
  };
  const keep = (identity: KubeObject, object: KubeObject): void => {
    kept.set(identity, readable(object));
  };
  return {
    keep,
    compact: (object) => {
      const identity = identityOf(object);
      keep(identity, object);
      return identity;
    },
    replace: async (objects, _version, how) => {
      const present = new Set(objects.map(keyOfObject));
      const surplus = [...dependencies.objects(kind.kind).keys()].filter(
        (key) => !present.has(key) && inScope(namespaceOfKey(key)),
      );
      const work: [ObjectKey, KubeObject | undefined][] = surplus.map((key) => [key, undefined]);
      for (const object of objects) work.push([keyOfObject(object), object]);
      await forEachKey(work, update, how);
    },
    upsert,
    remove: (object) => {
      dependencies.update(kind.kind, keyOfObject(object), undefined);
    },
  };
}

/** What is kept of an object that kinds read. */
function reductionOf({ content }: Pick<ObjectKind, 'content'>): (object: KubeObject) => KubeObject {
  if (typeof content === 'function') return content;
  return content === 'whole' ? withContent : metadataOnly;
}

function isChild({ metadata }: KubeObject): boolean {
  return metadata.labels?.[MANAGED_BY_LABEL] === MANAGED_BY;
}

function metadataOnly({ apiVersion, kind, metadata }: KubeObject): KubeObject {
  const { name, namespace, uid, resourceVersion, deletionTimestamp } = metadata;
  const labels = pickBySuffix([OWNER], metadata.labels);
  const annotations = pickBySuffix([GENERATED_ID, SERVER_IMAGE], metadata.annotations);
  // Only whether there are any is read.
  const edits = (labels ?? annotations) ? dataEdits(metadata).slice(0, 1) : [];
  return {
    apiVersion,
    kind,
    metadata: {
      name,
      ...defined({ namespace, uid, resourceVersion, deletionTimestamp, labels, annotations }),
      ...(edits.length === 0 ? {} : { managedFields: edits }),
    },
  };
}

function withContent(object: KubeObject): KubeObject {
  const { spec, status } = object as Resource;
  const { ownerReferences } = object.metadata;
  const labels = pickBySuffix([MANAGED_BY_LABEL, OWNER], object.metadata.labels);
  const annotations = pickBySuffix([DATABASE_GRANT], object.metadata.annotations, MAX_CHARACTERS);
  const { metadata, ...others } = metadataOnly(object);
  // Owner and label show whether a HorizontalPodAutoscaler belongs to KEDA.
  const owner = defined({ labels, annotations, ownerReferences });
  return { ...others, metadata: { ...metadata, ...owner }, spec, status } as Resource;
}
