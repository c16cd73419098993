import type { DocumentFilter } from '../../api/site-scoped.js';

/** A filter as the desk stores it: document type, field, operator, value, whether it is hidden. */
export type StoredFilter = readonly [string, string, string, string | readonly string[], false];

/**
 * The desk lists these with a capital: in lower case it finds them, but does not show them for
 * change.
 */
const OPERATORS: Readonly<Record<string, string>> = { between: 'Between', timespan: 'Timespan' };

/** @param documentType of the fields that name none */
export function storedFilters(
  filters: readonly DocumentFilter[] | undefined,
  documentType: string,
): readonly StoredFilter[] {
  return (filters ?? []).map((filter) => [
    filter.documentType ?? documentType,
    filter.field,
    OPERATORS[filter.operator] ?? filter.operator,
    filter.values ?? filter.value ?? '',
    false,
  ]);
}
