/**
 * Joins the operator's compiled code with its libraries in a few files below dist/lib/operator. They start
 * faster and take less memory than a thousand modules: the image and the tests run them. See ADR 29.
 *
 *     node tools/bundle/build.ts
 */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const LIB = fileURLToPath(new URL('../../dist/lib/', import.meta.url));
/** As deep as the folders of the modules, which have paths relative to themselves. */
const BUNDLE = join(LIB, 'operator');
/** Libraries of CommonJS call it. */
const REQUIRE =
  "import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);";

await rm(BUNDLE, { recursive: true, force: true });
await build({
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
