import type { FirstLogin } from './first-login.js';
import type { SiteConfig } from '../kit/api.js';
import { matchingItems, reasonIn, resultEntries, shortText } from '../kit/job-result.js';
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

const OUTCOMES = ['Changed', 'Unchanged', 'Failed'] as const;
const MAX_MESSAGE = 1024;
const KEY = /^[\w.-]{1,255}$/;
const MOST_KEYS = 128;

/**
 * The results in the termination message of `site_configuration.py`: `{"results": {"<id>": [outcome,
 * reason, message, keys]}}`. An entry of another form is a failure.
 */
export function resultsOf(
  message: string,
  time: string,
  namespace: string,
): readonly ConfigurationResult[] {
  return resultEntries(message).map(([id, [reported, code, why, keys]]) => {
    const outcome = OUTCOMES.find((known) => known === reported);
    const reason = reasonIn(code) ?? '';
    return {
      apiVersion: '',
      kind: 'ConfigurationResult',
      metadata: { namespace, name: id },
      outcome: outcome ?? 'Failed',
      reason,
      message: outcome ? (shortText(why, MAX_MESSAGE) ?? '') : 'the Job reports no outcome',
      keys: matchingItems(keys, KEY, MOST_KEYS),
      time,
    };
  });
}
