/**
 * Joins the compiled code with its libraries in a few files: of the operator below dist/lib/operator, of the
 * CLI below dist/lib/app-operator. They start faster and take less memory than a thousand modules. See ADR 29.
 *
 *     node dist/lib/tools/bundle/build.js
 */
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

import { writeIfChanged } from '../jobs/build.js';

const LIB = fileURLToPath(new URL('../../', import.meta.url));
/** Libraries of CommonJS call it. */
const REQUIRE =
  "import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);";

// Folders as deep as those of the modules, which have paths relative to themselves.
await bundle('operator', ['runner/main.js']);
await bundle('app-operator', ['cli/main.js', 'cli/kubectl-complete.js']);

async function bundle(folder: string, programs: readonly string[]): Promise<void> {
  const outdir = join(LIB, folder);
  const { outputFiles } = await build({
    write: false,
    entryPoints: programs.map((program) => join(LIB, program)),
    outdir,
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
  // Another process may be running the present files.
  for (const { path, text } of outputFiles) writeIfChanged(path, escaped(text));
  const current = new Set(outputFiles.map(({ path }) => path));
  for (const name of await readdir(outdir)) {
    const file = join(outdir, name);
    if (!current.has(file)) await rm(file);
  }
}

/** Of ASCII only: V8 keeps the text of a program, and any other character doubles it. */
function escaped(text: string): string {
  return text.replaceAll(/[^\0-\x7f]/g, (char) => {
    return `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}
