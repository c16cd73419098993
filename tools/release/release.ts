import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';

/** What all steps of a release know. */
export interface Release {
  /** The project's folder. */
  readonly root: string;
  /** Where the artifacts are written. */
  readonly out: string;
  /** Folder for files that are no artifacts; removed at the end. */
  readonly scratch: string;
  readonly version: string;
  /** The base image by digest, as the Dockerfile names it. */
  readonly base: string;
  /** Registry on this machine, which stands for the real one: `127.0.0.1:PORT`. */
  readonly registry: string;
}

/** The checksum of a file, in hexadecimal. */
export async function sha256(file: string): Promise<string> {
  return createHash('sha256')
    .update(await readFile(file))
    .digest('hex');
}

/** Writes `SHA256SUMS` of artifacts, in the form that `sha256sum --check` reads. */
export async function writeChecksums(out: string, names: readonly string[]): Promise<void> {
  const lines = await Promise.all(
    [...names].sort().map(async (name) => `${await sha256(path.join(out, name))}  ${name}\n`),
  );
  await writeFile(path.join(out, 'SHA256SUMS'), lines.join(''));
}
