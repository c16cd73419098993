/** The fields of an annotation that is a JSON object; none of one that is not. */
export function fieldsOf(annotation: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(annotation);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
