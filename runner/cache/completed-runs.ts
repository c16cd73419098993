import { fieldsOf } from './json-annotation.js';

/** The longest record that is read: a few Jobs with a hash each. */
const LONGEST = 4_096;

/** The runs of Jobs that succeeded, by the Job's name. */
export type CompletedRuns = Readonly<Record<string, string>>;

/** Parses the annotation `completed-runs`. What is not a record counts as none. */
export function readRuns(annotation: string | undefined): CompletedRuns {
  if (annotation === undefined || annotation.length > LONGEST) return {};
  return Object.fromEntries(
    Object.entries(fieldsOf(annotation)).filter(
      (entry): entry is [string, string] => typeof entry[1] === 'string',
    ),
  );
}
