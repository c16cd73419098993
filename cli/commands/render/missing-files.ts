import { dirname } from 'node:path';
import type { Preview } from '../../../constructs/preview/preview.js';
import type { MissingResource } from '../../../constructs/preview/input-problem.js';
import {
  joinManifests,
  readManifests,
  STDIN,
  type ManifestObject,
  type Manifests,
} from '../../io/manifest-files.js';

/**
 * The files beside those of the input that have what it lacks, and what these lack in turn.
 * @param previewOf builds the preview of an input
 */
export function missingFiles(
  input: Manifests,
  previewOf: (input: Manifests) => Pick<Preview, 'problems'>,
): readonly string[] {
  const beside = neighbours(input);
  const found: string[] = [];
  let extended = input;
  for (;;) {
    const missing = previewOf(extended).problems.flatMap((problem) => problem.missing ?? []);
    const files = missing.flatMap((one) => beside.find((other) => isThe(one, other))?.file ?? []);
    const added = [...new Set(files)].filter((file) => !found.includes(file));
    if (added.length === 0) return found;
    found.push(...added);
    extended = joinManifests([extended, readManifests(added, false)]);
  }
}

/** The objects of other files in the folders of the input. */
function neighbours({ objects }: Manifests): readonly ManifestObject[] {
  const files = new Set(objects.map(({ file }) => file).filter((file) => file !== STDIN));
  const folders = new Set([...files].map((file) => dirname(file)));
  return readManifests([...folders], false).objects.filter(({ file }) => !files.has(file));
}

function isThe({ kind, namespace, name }: MissingResource, { object }: ManifestObject): boolean {
  const { kind: otherKind, metadata } = object as {
    readonly kind?: unknown;
    readonly metadata?: { readonly name?: unknown; readonly namespace?: unknown } | null;
  };
  return (
    otherKind === kind && metadata?.name === name && (metadata.namespace ?? 'default') === namespace
  );
}
