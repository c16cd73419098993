import { MANAGED_BY, MANAGED_BY_LABEL } from '../../constructs/kit/labels.js';
import { keyOf, type KubeObject } from '../../constructs/kit/object.js';
import type { Sink } from './reflector.js';
import type { Subscriptions } from './world.js';

/**
 * The sink of a kind that is both a child and referred to by users, such as Secret: children go to
 * theirs, and the barest metadata of all objects to those who read them.
 */
export function readableSink(
  kind: string,
  subscriptions: Subscriptions,
  children: Sink,
  inScope: (namespace: string) => boolean,
): Sink {
  return {
    replace: (objects, version) => {
      const present = new Set(objects.map(keyOfObject));
      for (const key of [...subscriptions.objects(kind).keys()]) {
        if (!present.has(key) && inScope(key.slice(0, key.indexOf('/')))) {
          subscriptions.update(kind, key, undefined);
        }
      }
      for (const object of objects) subscriptions.update(kind, keyOfObject(object), bare(object));
      children.replace(objects.filter(isChild), version);
    },
    upsert: (object) => {
      subscriptions.update(kind, keyOfObject(object), bare(object));
      // One that has lost its label is no longer known as a child, and is looked at again.
      if (isChild(object)) children.upsert(object);
      else children.remove(object);
    },
    remove: (object) => {
      subscriptions.update(kind, keyOfObject(object), undefined);
      children.remove(object);
    },
  };
}

function isChild({ metadata }: KubeObject): boolean {
  return metadata.labels?.[MANAGED_BY_LABEL] === MANAGED_BY;
}

function bare({ apiVersion, kind, metadata }: KubeObject): KubeObject {
  const { name, namespace, uid, resourceVersion } = metadata;
  return {
    apiVersion,
    kind,
    metadata: {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      ...(uid === undefined ? {} : { uid }),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
    },
  };
}

function keyOfObject({ metadata }: KubeObject): string {
  return keyOf(metadata.namespace, metadata.name);
}
