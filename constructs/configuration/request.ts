import type { FirstLogin } from './first-login.js';
import type { SiteConfig } from '../kit/api.js';
import type { Index } from '../kit/kind.js';
import { keyOf, type KubeObject } from '../kit/object.js';

/** A request to set the keys of a bench or a site, in the operator's memory until it is done. */
export interface ConfigurationRequest extends KubeObject {
  readonly kind: 'BenchConfigurationRequest' | 'SiteConfigurationRequest';
  /** Name of the bench or the site, in the same namespace. */
  readonly owner: string;
  /** Twelve hexadecimal digits. They change with the content, and with each comparison that is due. */
  readonly id: string;
  readonly entries: SiteConfig;
  /** What the site's first users need; undefined where the site declares nothing of it. */
  readonly login?: FirstLogin;
}

/** The result of a request, in the operator's memory, under the request's id. */
export interface ConfigurationResult extends KubeObject {
  readonly kind: 'ConfigurationResult';
  readonly outcome: 'Changed' | 'Unchanged' | 'Failed';
  /** One CamelCase word; empty where nothing failed. */
  readonly reason: string;
  readonly message: string;
  /** The keys that differed in the file. */
  readonly keys: readonly string[];
  /** When the Job ended, RFC 3339. */
  readonly time: string;
}

/** The requests of a bench or a site, by its `<namespace>/<name>`. */
export function requestsOf(kind: ConfigurationRequest['kind']): Index<ConfigurationRequest> {
  return {
    name: `${kind}s`,
    kind,
    values: ({ metadata, owner }) => [keyOf(metadata.namespace, owner)],
  };
}

type Entry = readonly [
  outcome: ConfigurationResult['outcome'],
  reason: string,
  message: string,
  keys: readonly string[],
];

/** The results in the termination message of `site_configuration.py`: `{"results": {"<id>": entry}}`. */
export function resultsOf(
  message: string,
  time: string,
  namespace: string,
): readonly ConfigurationResult[] {
  const { results } = JSON.parse(message) as { readonly results: Readonly<Record<string, Entry>> };
  return Object.entries(results).map(([id, [outcome, reason, why, keys]]) => ({
    apiVersion: '',
    kind: 'ConfigurationResult',
    metadata: { namespace, name: id },
    outcome,
    reason,
    message: why,
    keys,
    time,
  }));
}
