import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { HEADER, type Files } from './output.js';

/**
 * `constructs/<folder>/scripts.generated.ts` of each folder with `scripts/*.{py,sh}`: constructs do no
 * I/O, so what they put into ConfigMaps has to be in the code. Contents are kept byte for byte.
 */
export function scriptFiles(root: string): Files {
  const files = new Map<string, string>();
  const constructs = join(root, 'constructs');
  for (const folder of readdirSync(constructs).sort()) {
    const scripts = join(constructs, folder, 'scripts');
    if (!existsSync(scripts)) continue;
    const names = readdirSync(scripts)
      .filter((name) => /\.(py|sh)$/.test(name))
      .sort();
    if (names.length === 0) continue;
    const entries = names.map(
      (name) => `  ${literal(name)}: ${lines(readFileSync(join(scripts, name), 'utf8'))},\n`,
    );
    files.set(
      `constructs/${folder}/scripts.generated.ts`,
      `${HEADER}\nexport const scripts = {\n${entries.join('')}} as const;\n`,
    );
  }
  return files;
}

/** One string literal a line of the script, so that a diff shows the line that changed. */
function lines(content: string): string {
  const parts = content.split(/(?<=\n)/);
  return parts.length < 2 ? literal(content) : `\n    ${parts.map(literal).join(' +\n    ')}`;
}

function literal(text: string): string {
  const escaped = JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'");
  return `'${escaped.replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029')}'`;
}
