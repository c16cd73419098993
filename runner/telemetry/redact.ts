export const REDACTED = '[redacted]';
/** A word in the names of secrets. `MYSQL_PWD` is a secret, `PWD` is a folder. */
export const SECRET_WORD =
  '(?:pass(?:word|wd|phrase)?|_pwd|rediscli_auth|token|secret|credential|authorization|cookie|(?:api|private|encryption|access)[-_]?key)';

const SECRET_NAME = new RegExp(SECRET_WORD, 'i');
/** The end of names of references, which are not secret: `secretName`, `passwordSecretRef`. */
const REFERENCE = /(?:ref|name|namespace|fromenv|file|path|version)s?$/i;
/** Values that are not secret: none, a boolean, a lone quote, and a redacted value. */
const NO_VALUE = /^(?:null|true|false|["']{0,2}|["']?\[redacted\]\\?["']?)$/;
/** A whole name with a secret word after its first `--`. See `redaction.ts` of the report. */
export const SECRET_FLAG = `(?<![\\w-])(?=\\w*(?:-\\w+)*--[\\w-]*${SECRET_WORD})[\\w-]+(?![\\w-])`;
const IS_SECRET_FLAG = new RegExp(`^(?=--)${SECRET_FLAG}$`, 'i');
const BEARER = /\b(Bearer|Basic)\s+[A-Za-z0-9._~+/=-]{6,}/gi;
const URL_PASSWORD = /(:\/\/[^\s/:@]*:)[^\s/@]+@/g;
const MAX_DEPTH = 8;

export interface RedactOptions {
  /** Deeper values are replaced: a log entry may have cycles. @default 8 */
  readonly maxDepth?: number;
  /** Redacts keys and text. @default redactText */
  readonly text?: (text: string) => string;
  /** A key that is left out. */
  readonly omit?: string;
  /** Called for each value that is replaced because of its key, flag or variable. */
  readonly onReplace?: () => void;
}

/** The text without bearer tokens and without passwords in URLs. */
export function redactText(text: string): string {
  return text.replace(BEARER, `$1 ${REDACTED}`).replace(URL_PASSWORD, `$1${REDACTED}@`);
}

/** Whether a text that follows a secret name is a value to redact. */
export function isSecretValue(text: string): boolean {
  return !NO_VALUE.test(text);
}

/**
 * A copy without secrets: values of secret keys, flags and environment variables, and data of Secrets.
 * Other text is redacted too. Logs must not get secrets in the first place; this is the second defence.
 */
export function redact(value: unknown, options: RedactOptions = {}): unknown {
  return new Redactor(options).redact(value, 0);
}

class Redactor {
  readonly #maxDepth: number;
  readonly #text: (text: string) => string;

  constructor(private readonly options: RedactOptions) {
    this.#maxDepth = options.maxDepth ?? MAX_DEPTH;
    this.#text = options.text ?? redactText;
  }

  redact(value: unknown, depth: number): unknown {
    if (typeof value === 'string') return this.#text(value);
    if (typeof value === 'bigint') return String(value);
    if (typeof value !== 'object' || value === null) return value;
    if (depth >= this.#maxDepth) return '[too deep]';
    if (value instanceof Date) return value.toJSON();
    if (value instanceof Error) return this.#text(`${value.name}: ${value.message}`);
    if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
    if (Array.isArray(value)) return this.#array(value, depth);
    return this.#object(value, depth);
  }

  /** In a list of arguments, the value of a secret flag is the next item. */
  #array(items: readonly unknown[], depth: number): unknown {
    return items.map((item, index) => {
      const before = index > 0 ? items[index - 1] : undefined;
      const isFlag = typeof before === 'string' && IS_SECRET_FLAG.test(before);
      return isFlag && typeof item === 'string' ? this.#replace() : this.redact(item, depth + 1);
    });
  }

  #object(object: object, depth: number): unknown {
    const { kind, name, value } = object as Readonly<Record<'kind' | 'name' | 'value', unknown>>;
    const isSecretVariable =
      typeof name === 'string' && typeof value === 'string' && SECRET_NAME.test(name);
    const entries = Object.entries(object).filter(([key]) => key !== this.options.omit);
    return Object.fromEntries(
      entries.map(([key, inner]) => {
        const isData = kind === 'Secret' && (key === 'data' || key === 'stringData');
        const isVariable = isSecretVariable && key === 'value';
        if (isData || isVariable) return [key, this.#replace()];
        const isSecret = SECRET_NAME.test(key) && !REFERENCE.test(key);
        const redacted = isSecret ? this.#secret(inner, depth + 1) : this.redact(inner, depth + 1);
        return [this.#text(key), redacted];
      }),
    );
  }

  /** The value of a secret key. An object is a reference, or has secret keys itself. */
  #secret(value: unknown, depth: number): unknown {
    if (depth >= this.#maxDepth) return this.#replace();
    if (Array.isArray(value)) return value.map((item: unknown) => this.#secret(item, depth + 1));
    const isText = typeof value === 'string' && isSecretValue(value);
    return isText || ArrayBuffer.isView(value) ? this.#replace() : this.redact(value, depth);
  }

  #replace(): string {
    this.options.onReplace?.();
    return REDACTED;
  }
}
