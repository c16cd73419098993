import { readFileSync } from 'node:fs';

/** The operator's release, as in its package.json. */
export const VERSION: string = readVersion();

function readVersion(): string {
  // Relative to dist/lib/runner, the place of the compiled file.
  const manifest: unknown = JSON.parse(
    readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'),
  );
  const version = (manifest as { readonly version?: unknown }).version;
  return typeof version === 'string' ? version : 'unknown';
}
