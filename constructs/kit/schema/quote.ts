const ESCAPES: Readonly<Record<string, string>> = { '\u0007': '\\a', '\u000b': '\\v' };

/** A value as the API server prints it in messages: Go's quoting for strings, JSON for the rest. */
export function quoted(value: unknown): string {
  if (typeof value !== 'string') return JSON.stringify(value);
  // JSON escapes control characters in its own way; Go has \a, \v and \x.., also for DEL.
  return JSON.stringify(value).replace(
    /\\u00([01][0-9a-f])|\u007f/g,
    (escape, hex: string | undefined) => {
      const code = hex ?? '7f';
      return (
        ESCAPES[String.fromCharCode(parseInt(code, 16))] ?? (escape === '' ? '' : `\\x${code}`)
      );
    },
  );
}
