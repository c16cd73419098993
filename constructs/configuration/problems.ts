import type { SiteConfig, SiteConfigEntry } from '../kit/api.js';
import type { SiteSocialLogin } from '../api/site.js';
import type { Problem } from '../kit/errors.js';
import type { ClusterReader } from '../kit/kind.js';
import { generatedSecrets, isNamed } from './ignored.js';
import { configurationReferences, sourcesOf } from './sources.js';

/** The Job gets the values in one environment variable, which may have twice as many. */
const MAX_BYTES = 64 * 1024;

/** Names of keys whose values are secrets. */
const SECRET_KEY = /(^|_)(password|passwd|secret|token|private_key|api_key|secret_key)$/i;

/** What a schema cannot find: it does not know a field of any type. Such an entry is left out. */
export function ignoredEntries(entries: SiteConfig = []): readonly Problem[] {
  let bytes = 0;
  return entries.flatMap((entry, index): readonly Problem[] => {
    const path = `spec.siteConfig[${index}]`;
    const { key, value, valueFrom } = entry;
    if ((value === undefined) === (valueFrom === undefined)) {
      return [{ path, message: `has no effect: "${key}" needs one of value and valueFrom` }];
    }
    bytes += bytesOf(entry);
    if (bytes > MAX_BYTES) {
      const message = `has no effect: with the entries before "${key}", the values take ${bytes} bytes; they may not take more than ${MAX_BYTES} together`;
      return [{ path, message }];
    }
    return generatedSecrets(configurationReferences([entry], entries));
  });
}

/** The entries that can be used. */
export function usableEntries(entries: SiteConfig = []): SiteConfig {
  const ignored = ignoredEntries(entries);
  return entries.filter((_, index) => !isNamed(ignored, `spec.siteConfig[${index}]`));
}

function bytesOf({ value }: SiteConfigEntry): number {
  return value === undefined ? 0 : new TextEncoder().encode(JSON.stringify(value)).length;
}

/** What is legal, but seldom meant. */
export function configurationWarnings(
  entries: SiteConfig = [],
  namespace: string,
  reader: ClusterReader,
  sso: readonly SiteSocialLogin[] = [],
): readonly Problem[] {
  const literal = entries.flatMap(({ key, value }, index): readonly Problem[] => {
    if (value === undefined || !SECRET_KEY.test(key)) return [];
    const message = `whoever may read the object sees the value of ${key}; read it from a Secret with valueFrom.secretKeyRef`;
    return [{ path: `spec.siteConfig[${index}].value`, message }];
  });
  const missing = sourcesOf({ siteConfig: entries, sso }, namespace, reader).flatMap(
    ({ path, problem }) =>
      problem === undefined
        ? []
        : [{ path, message: `${problem}; it is left out until that exists` }],
  );
  return [...literal, ...missing];
}
