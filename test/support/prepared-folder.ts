/** Folders that take seconds of a processor to make, made once on a machine and kept in the cache. */
import { createHash } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { cacheRoot } from '../../testbed/controlplane/binaries.js';

/**
 * The folder that `fill` made for these inputs, here or in an earlier process; copy it, and do not
 * change it. `fill` is synchronous: several processes may call this at the same time.
 */
export function preparedFolder(
  name: string,
  inputs: readonly string[],
  fill: (folder: string) => void,
): string {
  const hash = createHash('sha256').update(JSON.stringify(inputs)).digest('hex').slice(0, 12);
  const target = path.join(cacheRoot(), 'prepared', `${name}-${hash}`);
  if (existsSync(target)) return target;
  mkdirSync(path.dirname(target), { recursive: true });
  const draft = mkdtempSync(`${target}.`);
  try {
    chmodSync(draft, 0o755);
    fill(draft);
    renameSync(draft, target);
  } catch (error) {
    if (!existsSync(target)) throw error;
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
  return target;
}
