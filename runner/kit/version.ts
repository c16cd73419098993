import { existsSync, readFileSync } from 'node:fs';

/** The operator's release, as in its package.json. */
export const VERSION: string = readVersion();

function readVersion(): string {
  // Relative to a bundle, such as in dist/lib/operator, and to the compiled file in dist/lib/runner/kit.
  const places = ['../../../package.json', '../../../../package.json'];
  const file = places
    .map((place) => new URL(place, import.meta.url))
    .find((url) => existsSync(url));
  const manifest: unknown = file && JSON.parse(readFileSync(file, 'utf8'));
  const version = (manifest as { readonly version?: unknown } | undefined)?.version;
  return typeof version === 'string' ? version : 'unknown';
}
