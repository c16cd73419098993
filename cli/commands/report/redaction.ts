import type { KubeObject } from '../../../constructs/kit/object.js';
import { redact, redactText } from '../../../runner/telemetry/redact.js';
import { LAST_APPLIED } from '../../kube/kinds.js';

const REDACTED = '[redacted]';
/** Shorter values are words of every log: hiding them would hide the report. */
const SHORTEST = 6;
/** `MYSQL_PWD` is a secret, `PWD` a folder. */
const SECRET_WORD =
  '(?:pass(?:word|wd|phrase)?|_pwd|rediscli_auth|token|secret|credential|authorization|cookie|(?:api|private|encryption|access)[-_]?key)';
const SECRET_NAME = new RegExp(SECRET_WORD, 'i');
/** What leads to a secret, or tells which one it is: worth reading. */
const REFERENCE = /(?:ref|name|namespace|fromenv|file|path|version)s?$/i;
/** What is no secret whatever its name says: nothing, whether there is one, a lone quote, what is hidden already. */
const NO_VALUE = /^(?:null|true|false|["']{0,2}|["']?\[redacted\]\\?["']?)$/;
/**
 * In quotes, which may stand within text in quotes, or to the next space or mark. What is escaped ends no
 * quotes. They need not end, since a log may be cut off anywhere: so no search for an end is ever in vain.
 */
const VALUE = [
  /(?<=\\)"(?:[^"\\\n]|\\{4}|\\{3}"|\\{1,3}(?!["\\]))*(?:\\{0,2}")?/,
  /"(?:[^"\\\n]|\\.)*"?/,
  /'(?:[^'\\\n]|\\.|'')*'?/,
  /[^\s,;}&"']+/,
]
  .map(({ source }) => source)
  .join('|');
/**
 * A whole name with a secret word in it. It is looked at from its beginning only and never in part, which
 * keeps the search linear: the log of one container may be one line of a megabyte.
 */
const TELLING_NAME = `(?<![\\w-])(?=[\\w-]*${SECRET_WORD})[\\w-]+(?![\\w-])`;
/** The same with the word after the first `--`. */
const SECRET_FLAG = `(?<![\\w-])(?=\\w*(?:-\\w+)*--[\\w-]*${SECRET_WORD})[\\w-]+(?![\\w-])`;
const IS_SECRET_FLAG = new RegExp(`^(?=--)${SECRET_FLAG}$`, 'i');
/** Between a flag and its value: space, or what stands between the items of a list in JSON or YAML. */
const NEXT = `(?:\\\\?["']\\s*,\\s*\\\\?|["']?[^\\S\\n]*\\n\\s*-\\s+|\\s+)`;
/** `password=x`, `"api_key": "x"`, and `--token x`: what tells, and the value. */
const TELLING = [
  new RegExp(`(?<tells>${TELLING_NAME}\\\\?["']?\\s*[:=]\\s*\\\\?)(?<value>${VALUE})`, 'gi'),
  new RegExp(`(?<tells>${SECRET_FLAG}${NEXT})(?<value>${VALUE})`, 'gi'),
];

/** Takes secrets out of what a report holds. */
export class Redaction {
  /** Values of Secrets in every form in which they may be written, the longest first. */
  #values: readonly string[] = [];
  #count = 0;

  /** How many values were replaced so far. */
  get count(): number {
    return this.#count;
  }

  /** Remembers the values of Secrets: wherever one is found, it is replaced. */
  learn(secrets: readonly KubeObject[]): void {
    const values = secrets.flatMap((secret) => {
      const { data = {} } = secret as { readonly data?: Readonly<Record<string, string>> };
      return Object.values(data).flatMap((encoded) => {
        const value = Buffer.from(encoded, 'base64').toString('utf8');
        // Of a key in PEM, each line counts: logs have them one by one.
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
      .filter((value) => value.length >= SHORTEST)
      .sort((a, b) => b.length - a.length);
  }

  /** A text without secrets. */
  text(text: string): string {
    let clean = text;
    for (const value of this.#values) {
      if (!clean.includes(value)) continue;
      this.#count += clean.split(value).length - 1;
      clean = clean.replaceAll(value, REDACTED);
    }
    return TELLING.reduce((text, pattern) => this.#hideAfter(text, pattern), redactText(clean));
  }

  /** An object without secrets. References to Secrets stay: they are worth reading. */
  object(object: unknown): unknown {
    return this.#strings(redact(environment(object), 0, Infinity));
  }

  #hideAfter(text: string, pattern: RegExp): string {
    return text.replaceAll(pattern, (...args: unknown[]) => {
      const { tells = '', value = '' } = args.at(-1) as Readonly<Record<string, string>>;
      if (NO_VALUE.test(value)) return tells + value;
      this.#count += 1;
      return tells + REDACTED;
    });
  }

  /** In a list of arguments the one before may tell what this one is. */
  #item(item: unknown, before: unknown): unknown {
    const hides = typeof item === 'string' && typeof before === 'string';
    if (!hides || !IS_SECRET_FLAG.test(before)) return this.#strings(item);
    this.#count += 1;
    return REDACTED;
  }

  #strings(value: unknown): unknown {
    if (typeof value === 'string') return this.text(value);
    if (Array.isArray(value))
      return value.map((item: unknown, index) => this.#item(item, value[index - 1]));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value)
        .filter(([key]) => key !== LAST_APPLIED)
        .map(([key, inner]) => [
          this.text(key),
          SECRET_NAME.test(key) && !REFERENCE.test(key)
            ? this.#hidden(inner)
            : this.#strings(inner),
        ]),
    );
  }

  /** What stands under a telling key. An object is a reference, or has keys that tell for themselves. */
  #hidden(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((item: unknown) => this.#hidden(item));
    if (typeof value !== 'string') return this.#strings(value);
    if (NO_VALUE.test(value)) return value;
    this.#count += 1;
    return REDACTED;
  }
}

/** A Secret as a report may tell of it: which keys it has, and how long their values are. */
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

/** The values of environment variables with telling names, which their keys do not tell. */
function environment(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item: unknown) => environment(item));
  if (typeof value !== 'object' || value === null) return value;
  const { name, value: text } = value as { readonly name?: unknown; readonly value?: unknown };
  const hides = typeof name === 'string' && typeof text === 'string' && SECRET_NAME.test(name);
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      hides && key === 'value' ? REDACTED : environment(inner),
    ]),
  );
}

/** A text as it stands within JSON. */
function quoted(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}
