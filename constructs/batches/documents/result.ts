import type { DocumentOutcome, DocumentRequest, DocumentResult } from '../../kit/document.js';
import { matchingItems, resultEntries, shortText } from '../../kit/job-result.js';

// prettier-ignore
const OUTCOMES = [
  'Created', 'Changed', 'Unchanged', 'Deleted', 'Disabled', 'Absent', 'Failed',
] as readonly DocumentOutcome[];
const MAX_MESSAGE = 1024;
/** Name of a field, or its path in a child table. */
const FIELD = /^[\w .[\]-]{1,140}$/;
const MAX_FIELDS = 100;

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
  return resultEntries(message).map(([id, entry]) => resultOf(namespace, id, entryIn(entry), time));
}

/** An entry of another form is a failure: the request is done, and is repeated later. */
function entryIn([reported, message, ignored]: readonly unknown[]): Entry {
  const outcome = OUTCOMES.find((known) => known === reported);
  if (!outcome) return ['Failed', 'the Job reports no outcome', []];
  return [
    outcome,
    shortText(message, MAX_MESSAGE) ?? '',
    matchingItems(ignored, FIELD, MAX_FIELDS),
  ];
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
