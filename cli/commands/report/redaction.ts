import type { KubeObject } from '../../../constructs/kit/object.js';
import { redact, REDACTED, redactText } from '../../../runner/telemetry/redact.js';
import { LAST_APPLIED } from '../../../constructs/kit/well-known.js';

/** Shorter values are ordinary words of logs. */
const MIN_LENGTH = 6;
/** Redacts secrets in the files of a report. */
export class Redaction {
  /** Values of Secrets in every encoding, the longest first. */
  #values: readonly string[] = [];
  #count = 0;

  /** The number of redacted values so far. */
  get count(): number {
    return this.#count;
  }

  /** Redacts the values of these Secrets from now on, wherever they are found. */
  learn(secrets: readonly KubeObject[]): void {
    const values = secrets.flatMap((secret) => {
      const { data = {} } = secret as { readonly data?: Readonly<Record<string, string>> };
      return Object.values(data).flatMap((encoded) => {
        const value = Buffer.from(encoded, 'base64').toString('utf8');
        // Logs show the lines of a PEM key one by one.
        const lines = value.split(/\r?\n/).filter((line) => !line.startsWith('-----'));
        return [encoded, value, ...lines].flatMap((one) => [
          one,
          one.trim(),
          quoted(one),
          encodeURIComponent(one),
        ]);
      });
    });
    this.#values = [...new Set([...this.#values, ...values])]
      .filter((value) => value.length >= MIN_LENGTH)
      .sort((a, b) => b.length - a.length);
  }

  /** A text without secrets. */
  text(text: string): string {
    const clean = this.#clean(text);
    this.#count += clean.split(REDACTED).length - 1;
    return clean;
  }

  /** An object without secrets. References to Secrets stay. */
  object(object: unknown): unknown {
    const text = (one: string): string => this.#clean(one);
    const clean = redact(object, { maxDepth: Infinity, text, omit: LAST_APPLIED });
    this.#count += JSON.stringify(clean).split(REDACTED).length - 1;
    return clean;
  }

  #clean(text: string): string {
    const known = this.#values.reduce((left, value) => left.replaceAll(value, REDACTED), text);
    return redactText(known);
  }
}

/** A Secret without its values: the keys, and the sizes of their values. */
export function outlineOf(secret: KubeObject): unknown {
  const { data = {}, type } = secret as KubeObject & {
    readonly data?: Readonly<Record<string, string>>;
    readonly type?: string;
  };
  const { name, namespace, labels, creationTimestamp } = secret.metadata;
  return {
    kind: 'Secret',
    type,
    metadata: { name, namespace, labels, creationTimestamp },
    bytes: Object.fromEntries(
      Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').length]),
    ),
  };
}

/** A text as part of a JSON string. */
function quoted(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}
