import type { SiteConfig, SiteConfigEntry } from '../kit/api.js';
import type { SiteSocialLogin } from '../api/site.js';
import type { Problem } from '../kit/errors.js';
import type { ClusterReader } from '../kit/kind.js';
import { generatedSecretProblems } from '../frappe/pod-template-rules.js';
import { configurationReferences, sourcesOf } from './sources.js';

/** The Job gets the values in one environment variable, which may have twice as many. */
const MAX_BYTES = 64 * 1024;

/** Names of keys whose values are secrets. */
const SECRET_KEY = /(^|_)(password|passwd|secret|token|private_key|api_key|secret_key)$/i;

/** What a schema cannot find: it does not know a field of any type. */
export function configurationProblems(entries: SiteConfig = []): readonly Problem[] {
  const found = entries.flatMap(({ key, value, valueFrom }, index): Problem[] => {
    if ((value === undefined) !== (valueFrom === undefined)) return [];
    const message = `Invalid value: "${key}": needs one of value and valueFrom`;
    return [{ path: `spec.siteConfig[${index}]`, message }];
  });
  found.push(
    ...configurationReferences(entries)
      .filter(({ kind }) => kind === 'Secret')
      .flatMap(({ name, path }) => generatedSecretProblems(name, path)),
  );
  const bytes = entries.reduce((sum, entry) => sum + bytesOf(entry), 0);
  if (bytes <= MAX_BYTES) return found;
  const message = `Too long: the values take ${bytes} bytes; they may not take more than ${MAX_BYTES} together`;
  return [...found, { path: 'spec.siteConfig', message }];
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
        : [{ path, message: `${problem}; the keys are set when it exists` }],
  );
  return [...literal, ...missing];
}
