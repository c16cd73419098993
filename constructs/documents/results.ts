import type { DocumentOutcome, DocumentRequest, DocumentResult } from '../kit/document.js';

type Entry = readonly [outcome: DocumentOutcome, message: string, ignored: readonly string[]];

/**
 * The results in the termination message of `site_documents.py`: `{"results": {"<id>": [outcome,
 * message, ignored]}}`.
 */
export function resultsOf(
  message: string,
  time: string,
  namespace: string,
): readonly DocumentResult[] {
  const { results } = JSON.parse(message) as { readonly results: Readonly<Record<string, Entry>> };
  return Object.entries(results).map(([id, entry]) => resultOf(namespace, id, entry, time));
}

/** The result of a request that the script can say nothing of. */
export function failureOf(
  { metadata: { namespace = 'default' }, id }: DocumentRequest,
  message: string,
  time: string,
): DocumentResult {
  return resultOf(namespace, id, ['Failed', message, []], time);
}

function resultOf(
  namespace: string,
  id: string,
  [outcome, message, ignored]: Entry,
  time: string,
): DocumentResult {
  return {
    apiVersion: '',
    kind: 'DocumentResult',
    metadata: { namespace, name: id },
    outcome,
    message,
    ignored,
    time,
  };
}
