import {
  isConfigurationValue,
  isSecretName,
  isSecretNumber,
  isSecretValue,
  isSecretVariable,
  replaceSecrets,
  SECRET_FLAG,
} from './secret-patterns.js';

export const REDACTED = '[redacted]';

const IS_SECRET_FLAG = new RegExp(`^(?=--)${SECRET_FLAG}$`, 'i');
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

/** The text without secrets. */
export function redactText(text: string, onReplace?: () => void): string {
  return replaceSecrets(text, () => {
    onReplace?.();
    return REDACTED;
  });
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
    this.#text = options.text ?? ((text) => redactText(text, options.onReplace));
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
      const isArgument =
        (typeof before === 'string' && IS_SECRET_FLAG.test(before)) ||
        isConfigurationValue(items, index);
      const isSecret = isArgument && typeof item === 'string';
      return isSecret ? this.#replace() : this.redact(item, depth + 1);
    });
  }

  #object(object: object, depth: number): unknown {
    const { kind, name, key: item, value } = object as Readonly<Record<string, unknown>>;
    const variable = name ?? item;
    const hasSecretValue =
      typeof variable === 'string' &&
      typeof value === 'string' &&
      isSecretVariable(variable, value);
    const entries = Object.entries(object).filter(([key]) => key !== this.options.omit);
    return Object.fromEntries(
      entries.map(([key, inner]) => {
        const isData = kind === 'Secret' && (key === 'data' || key === 'stringData');
        const isVariable = hasSecretValue && key === 'value';
        if (isData || isVariable) return [key, this.#replace()];
        if (typeof inner === 'number' && isSecretNumber(key, inner)) return [key, this.#replace()];
        const redacted = isSecretName(key)
          ? this.#secret(inner, depth + 1)
          : this.redact(inner, depth + 1);
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
