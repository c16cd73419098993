/**
 * Joins the operator's compiled code with its libraries in a few files below dist/lib/operator. They start
 * faster and take less memory than a thousand modules: the image and the tests run them. See ADR 29.
 *
 *     node tools/bundle/build.ts
 */
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const LIB = fileURLToPath(new URL('../../dist/lib/', import.meta.url));
/** As deep as the folders of the modules, which have paths relative to themselves. */
const BUNDLE = join(LIB, 'operator');
/** Libraries of CommonJS call it. */
const REQUIRE =
  "import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);";

const { outputFiles } = await build({
  write: false,
  entryPoints: [join(LIB, 'runner/main.js')],
  outdir: BUNDLE,
  bundle: true,
  // The check of Node.js comes first, and what is rarely needed is loaded when it is.
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node22',
  banner: { js: REQUIRE },
  // Only for credentials of programs, and as large as all the rest.
  external: ['@kubernetes/client-node'],
  // They stand in node_modules of the image.
  legalComments: 'none',
  logLevel: 'warning',
});

// What has not changed is not written: another process may be running it.
await mkdir(BUNDLE, { recursive: true });
const files = new Map(outputFiles.map(({ path, text }) => [basename(path), escaped(text)]));
for (const name of await readdir(BUNDLE)) if (!files.has(name)) await rm(join(BUNDLE, name));
for (const [name, text] of files) {
  const file = join(BUNDLE, name);
  if ((await readFile(file, 'utf8').catch(() => undefined)) !== text) await writeFile(file, text);
}

/** Of ASCII only: V8 keeps the text of a program, and any other character doubles it. */
function escaped(text: string): string {
  return text.replaceAll(/[^\0-\x7f]/g, (char) => {
    return `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}
