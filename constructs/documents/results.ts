import type { DocumentOutcome, DocumentResult } from '../kit/document.js';

type Entry = readonly [outcome: DocumentOutcome, message: string, ignored: readonly string[]];

/** The results in the last words of `site_documents.py`: `{"results": {"<id>": [outcome, message, ignored]}}`. */
export function resultsOf(
  message: string,
  time: string,
  namespace: string,
): readonly DocumentResult[] {
  const { results } = JSON.parse(message) as { readonly results: Readonly<Record<string, Entry>> };
  return Object.entries(results).map(([id, [outcome, words, ignored]]) => ({
    apiVersion: '',
    kind: 'DocumentResult',
    metadata: { namespace, name: id },
    outcome,
    message: words,
    ignored,
    time,
  }));
}
