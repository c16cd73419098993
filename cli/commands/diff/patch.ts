import { createTwoFilesPatch, FILE_HEADERS_ONLY } from 'diff';
import { canonicalJson } from '../../../constructs/kit/json/hash.js';
import type { KubeObject } from '../../../constructs/kit/object.js';
import { LAST_APPLIED } from '../../../constructs/kit/well-known.js';
import { toYaml } from '../../io/yaml.js';

/** Fields that the API server, kubectl or the operator sets. */
const IGNORED =
  'status managedFields resourceVersion uid ownerReferences creationTimestamp generation selfLink';

/** A unified patch from one object to another, without some fields; empty without a difference. */
export function patchOf(
  before: KubeObject | undefined,
  after: KubeObject | undefined,
  ignored: readonly string[] = [],
): string {
  const { kind = '', metadata } = after ?? before ?? {};
  const name = [kind, metadata?.namespace, metadata?.name].filter(Boolean).join('.');
  const left = new Set([...IGNORED.split(' '), LAST_APPLIED, ...ignored]);
  const text = (object: KubeObject | undefined): string => {
    if (!object) return '';
    const kept = JSON.stringify(object, (key, value: unknown) =>
      left.has(key) ? undefined : value,
    );
    return toYaml([JSON.parse(canonicalJson(JSON.parse(kept))) as object]);
  };
  const [old, now] = [text(before), text(after)];
  if (old === now) return '';
  const [from, to] = [before ? `live/${name}` : '/dev/null', after ? `new/${name}` : '/dev/null'];
  const options = { context: 3, headerOptions: FILE_HEADERS_ONLY };
  return createTwoFilesPatch(from, to, old, now, undefined, undefined, options);
}
