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

/** The fields of an annotation that is a JSON object; none of one that is not. */
export function fieldsOf(annotation: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(annotation);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
