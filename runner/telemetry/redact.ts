const SECRET_KEY =
  /(password|passwd|passphrase|_pwd|token|authorization|secret|cookie|credentials?|(private|api|encryption|access|secret)[-_]?key)$/i;
const BEARER = /\b(Bearer|Basic)\s+[A-Za-z0-9._~+/=-]{6,}/gi;
const URL_PASSWORD = /(:\/\/[^\s/:@]*:)[^\s/@]+@/g;
const REDACTED = '[redacted]';
const MAX_DEPTH = 8;

/** The text without bearer tokens and without passwords in URLs. */
export function redactText(text: string): string {
  return text.replace(BEARER, `$1 ${REDACTED}`).replace(URL_PASSWORD, `$1${REDACTED}@`);
}

/**
 * A copy that can be logged. No code logs a secret on purpose; this guards against mistakes: values
 * under secret-like keys, data of Secrets, tokens in text and values that nest too deep are replaced.
 * @param most the deepest level; Infinity for values without cycles
 */
export function redact(value: unknown, depth = 0, most = MAX_DEPTH): unknown {
  if (typeof value === 'string') return redactText(value);
  if (typeof value === 'bigint') return String(value);
  if (typeof value !== 'object' || value === null) return value;
  if (depth >= most) return '[too deep]';
  if (value instanceof Date) return value.toJSON();
  if (value instanceof Error) return redactText(`${value.name}: ${value.message}`);
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
  if (Array.isArray(value)) return value.map((item) => redact(item, depth + 1, most));
  const isSecret = (value as { readonly kind?: unknown }).kind === 'Secret';
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      hides(key, inner) || (isSecret && (key === 'data' || key === 'stringData'))
        ? REDACTED
        : redact(inner, depth + 1, most),
    ]),
  );
}

function hides(key: string, value: unknown): boolean {
  // References to Secrets are objects with a name, and are not secret.
  const holdsText = typeof value === 'string' || ArrayBuffer.isView(value) || Array.isArray(value);
  return holdsText && SECRET_KEY.test(key);
}
