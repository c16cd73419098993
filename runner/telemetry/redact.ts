export const REDACTED = '[redacted]';

/** The end of the names of secrets. `secretName` and `tokenFile` are references. */
const NAME =
  '(?:pass(?:word|wd|phrase)|_pwd|token|secret|credential|authorization|cookie|(?:api|secret|private|encryption|access|signing)[-_]?key)s?';
const IS_SECRET = new RegExp(`${NAME}$`, 'i');
/** `password=x`, `"token": "x"`, `Authorization: Bearer x`; not `Secret/shop-password: created`. */
const PAIR = new RegExp(
  `((?<!/[\\w-]{0,63})${NAME}\\\\{0,3}["']?\\s{0,3}[:=]\\s{0,3}\\\\{0,3}["']?(?:basic\\s)?)(?!bearer)([^\\s"'\\\\,;&{}[\\]]+)`,
  'gi',
);
const BEARER = /(\bBearer\s)([\w.~+/=-]+)/g;
const URL_PASSWORD = /(:\/\/[^\s/:@"]{0,256}:)([^\s/"@]+)(?=@)/g;
const MAX_DEPTH = 8;

export interface RedactOptions {
  /** Deeper values are replaced: a log entry may have cycles. @default 8 */
  readonly maxDepth?: number;
  /** Redacts keys and text. @default redactText */
  readonly text?: (text: string) => string;
  /** A key that is left out. */
  readonly omit?: string;
}

/** The text without the values of names of secrets, and without passwords in URLs. */
export function redactText(text: string): string {
  return [PAIR, BEARER, URL_PASSWORD].reduce(
    (left, rule) => left.replace(rule, `$1${REDACTED}`),
    text,
  );
}

/**
 * A copy without the values of keys and variables that are named as secrets, and without data of Secrets.
 * Logs must not get secrets in the first place; this is the second defence.
 */
export function redact(value: unknown, options: RedactOptions = {}, depth = 0): unknown {
  const { maxDepth = MAX_DEPTH, text = redactText } = options;
  if (typeof value === 'string') return text(value);
  if (typeof value === 'bigint') return String(value);
  if (typeof value !== 'object' || value === null) return value;
  if (depth >= maxDepth) return '[too deep]';
  if (Array.isArray(value)) return value.map((item: unknown) => redact(item, options, depth + 1));
  return redactObject(value, options, depth);
}

function redactObject(object: object, options: RedactOptions, depth: number): unknown {
  const { text = redactText, omit } = options;
  if (object instanceof Date) return object.toJSON();
  if (object instanceof Error) return text(`${object.name}: ${object.message}`);
  if (ArrayBuffer.isView(object)) return `[${object.byteLength} bytes]`;
  const { kind } = object as { readonly kind?: unknown };
  const entries = Object.entries(object).filter(([key]) => key !== omit);
  return Object.fromEntries(
    entries.map(([key, inner]: [string, unknown]) => {
      if (kind === 'Secret' && /^(data|stringData)$/.test(key)) return [key, REDACTED];
      const clean = isSecret(object, key) ? concealed : redact;
      return [text(key), clean(inner, options, depth + 1)];
    }),
  );
}

/** Whether the value of a key is a secret: by its name, or as the value of a variable by that name. */
function isSecret(object: object, key: string): boolean {
  const { name } = object as { readonly name?: unknown };
  return IS_SECRET.test(key === 'value' && typeof name === 'string' ? name : key);
}

/** A secret, or a list of secrets. Objects are references to Secrets. */
function concealed(value: unknown, options: RedactOptions, depth: number): unknown {
  if (typeof value === 'string') return value === '' ? '' : REDACTED;
  if (ArrayBuffer.isView(value)) return REDACTED;
  if (Array.isArray(value) && depth < (options.maxDepth ?? MAX_DEPTH))
    return value.map((item: unknown) => concealed(item, options, depth + 1));
  return redact(value, options, depth);
}
