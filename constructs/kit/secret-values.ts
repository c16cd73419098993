import { versionOf, type KubeObject, type ManagedFieldsEntry, type ObjectMeta } from './object.js';
import { OWNER, GENERATED_ID } from './metadata-keys.js';
import { MANAGED_BY } from './labels.js';

/**
 * What identifies the values of a generated Secret, as a pick: values that were generated again have
 * another one. Releases before 0.3 have written no annotation: there it is the uid.
 */
export function valuesIdOf({ metadata }: KubeObject): string {
  const id = Object.entries(metadata.annotations ?? {}).find(([key]) => key.endsWith(GENERATED_ID));
  return id?.[1] ?? metadata.uid ?? '';
}

/** A Secret of a name that the operator generates, where users may have created or edited it. */
export interface NamedSecret {
  /** Whether the operator generated it: without owner label and id it is a user's. */
  readonly generated: boolean;
  /** See `valuesIdOf`. */
  readonly id: string;
  /** The version of values that a user gave; '' for generated values. */
  readonly version: string;
}

/** Picks what is asked of a Secret of a generated name. In a preview it exists, without a uid: as generated. */
export function namedSecretOf(secret: KubeObject): NamedSecret {
  const { uid, labels = {}, annotations = {} } = secret.metadata;
  const generated =
    uid === undefined ||
    Object.keys(labels).some((key) => key.endsWith(OWNER)) ||
    Object.keys(annotations).some((key) => key.endsWith(GENERATED_ID));
  const given = !generated || dataEdits(secret.metadata).length > 0;
  return { generated, id: valuesIdOf(secret), version: given ? versionOf(secret) : '' };
}

/**
 * The managers that have changed the data of a generated Secret. A tool that restores a backup gives
 * the data when it creates the object: that changes nothing.
 */
export function dataEdits({
  creationTimestamp = '',
  managedFields = [],
}: Pick<ObjectMeta, 'creationTimestamp' | 'managedFields'>): readonly ManagedFieldsEntry[] {
  return managedFields
    .filter(
      ({ manager, time = '', fieldsV1 }) =>
        manager !== MANAGED_BY && fieldsV1?.['f:data'] !== undefined && time > creationTimestamp,
    )
    .map(({ manager, operation, time = '' }) => ({
      manager,
      operation,
      time,
      fieldsV1: { 'f:data': {} },
    }));
}
