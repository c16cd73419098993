import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KindDefinition } from '../../constructs/kit/definition.js';
import type { Files } from './output.js';

/** `dist/install.yaml`. What makes it imports every kind, so it is imported late, as these are. */
export async function installFile(
  root: string,
  definitions: readonly KindDefinition[],
): Promise<Files> {
  const { GENERATED, installManifest } = await import('../../cli/install.js');
  const text = installManifest({ version: versionIn(root), definitions });
  return new Map([['dist/install.yaml', GENERATED + text]]);
}

function versionIn(root: string): string {
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    readonly version: string;
  };
  return manifest.version;
}
