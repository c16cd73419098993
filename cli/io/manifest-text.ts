import { isUtf8 } from 'node:buffer';

/** The text of a manifest file, or why it cannot be read as text. */
export type ManifestText = { readonly text: string } | { readonly problem: string };

const NEWLINE = 0x0a;

/**
 * Decodes a file. Manifests are UTF-8: kubectl reads UTF-16 in part only, and other encodings wrongly.
 * @param file the name of the file in problems
 */
export function decodeManifest(bytes: Uint8Array, file: string): ManifestText {
  const wide = wideEncoding(bytes);
  if (wide !== undefined)
    return {
      problem: `${file}: encoding is ${wide}, expected UTF-8; convert it with iconv -f ${wide} -t UTF-8`,
    };
  if (!isUtf8(bytes))
    return {
      problem: `${file}:${lineOfInvalid(bytes)}: not valid UTF-8; convert the file, for example with iconv -f ISO-8859-1 -t UTF-8`,
    };
  return { text: Buffer.from(bytes).toString('utf8') };
}

/** By the byte order mark; without one, by the zeros beside the first character, which is ASCII in YAML. */
function wideEncoding([a, b, c, d]: Uint8Array): 'UTF-16' | 'UTF-32' | undefined {
  const isZero = [a, b, c, d].map((byte) => byte === 0);
  const zeros = isZero.map((zero) => (zero ? '0' : 'x')).join('');
  if (zeros === '00xx' || zeros === '000x' || zeros === 'x000' || zeros === 'xx00') return 'UTF-32';
  if ((a === 0xff && b === 0xfe) || (a === 0xfe && b === 0xff)) return 'UTF-16';
  return zeros === '0x0x' || zeros === 'x0x0' ? 'UTF-16' : undefined;
}

/** No character of several bytes has a newline in it. */
function lineOfInvalid(bytes: Uint8Array): number {
  let line = 1;
  let start = 0;
  for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, start)) {
    if (!isUtf8(bytes.subarray(start, end))) return line;
    start = end + 1;
    line += 1;
  }
  return line;
}

/** Actions of Helm and Jinja, and variables of shells, envsubst and Flux. */
const ACTION = /\{\{.*?\}\}|\{%.*?%\}|<%.*?%>/;
const VARIABLE = /\$\{\w+[^}]*\}|^\$\w+$/;
const ADVICE = 'render it first, such as with `helm template`, and give the result';

/** A template's action in a text that is no YAML: its line, from 0, and what to do. */
export function templateIn(
  text: string,
): { readonly line: number; readonly message: string } | undefined {
  const lines = text.split('\n');
  const line = lines.findIndex((one) => ACTION.test(one));
  const [action] = ACTION.exec(lines[line] ?? '') ?? [];
  if (action === undefined) return undefined;
  return {
    line,
    message: `the file is a template, not YAML: ${JSON.stringify(action)}; ${ADVICE}`,
  };
}

/** What to do about an invalid value that is the action or the variable of a template. */
export function templateAdvice(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined;
  const [action] = ACTION.exec(value) ?? VARIABLE.exec(value) ?? [];
  return action === undefined
    ? undefined
    : `the value comes from a template: ${JSON.stringify(action)}; ${ADVICE}`;
}
