import { chmod, mkdir, rm } from 'node:fs/promises';
import path from 'node:path';

import { run } from '../controlplane/run.js';

/** The files of the volumes: a folder each, below one. */
export class Storage {
  constructor(private readonly folder: string) {}

  directory(volume: string): string {
    return path.join(this.folder, volume);
  }

  /**
   * Makes an empty volume; again is fine.
   *
   * @param limited whether it holds no more than that many bytes; it is kept in memory then
   */
  async create(volume: string, bytes: number, limited: boolean): Promise<void> {
    const directory = this.directory(volume);
    await mkdir(directory, { recursive: true });
    if (limited && !(await isMounted(directory))) {
      await run('mount', ['-t', 'tmpfs', '-o', `size=${bytes}`, 'tmpfs', directory]);
    }
    // As a disk comes: of root, until the kubelet gives it to the pod's group.
    await chmod(directory, 0o770);
  }

  /** Gives a volume that is in use another, larger size. */
  async grow(volume: string, bytes: number): Promise<void> {
    const directory = this.directory(volume);
    if (!(await isMounted(directory))) return;
    await run('mount', ['-o', `remount,size=${bytes}`, directory]);
  }

  async remove(volume: string): Promise<void> {
    const directory = this.directory(volume);
    if (await isMounted(directory)) await run('umount', [directory]);
    await rm(directory, { recursive: true, force: true });
  }
}

function isMounted(directory: string): Promise<boolean> {
  return run('mountpoint', ['--quiet', directory]).then(
    () => true,
    () => false,
  );
}
