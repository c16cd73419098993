/** A field of a spec that means the same in several spellings, of which one is stored. */
export interface NormalField {
  /** Where it is: `['spec', 'siteName']`; `*` stands for each item of a list. */
  readonly path: readonly string[];
  /** Its normal form. What is in it already is left as it is. */
  readonly form: (text: string) => string;
}

/** Host names have no case, and the dot of the root at their end is left out. */
export function normalHost(text: string): string {
  return text.trim().toLowerCase().replace(/[.]$/, '');
}

/** The framework names users by their address in lower case. */
export function normalEmail(text: string): string {
  return text.trim().toLowerCase();
}
