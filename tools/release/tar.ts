import { readFile, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { run } from '../../testbed/controlplane/run.js';

/** Equal files give an equal archive: sorted, of no time, owned by root, with two modes only. */
const REPRODUCIBLE = [
  '--sort=name',
  '--mtime=@0',
  '--owner=0',
  '--group=0',
  '--numeric-owner',
  '--mode=u=rwX,go=rX',
  '--format=pax',
  '--pax-option=exthdr.name=%d/PaxHeaders/%f,delete=atime,delete=ctime',
];

/** Archives files below a folder. @param names paths below the folder, such as `.` */
export async function writeTar(
  file: string,
  folder: string,
  names: readonly string[],
): Promise<void> {
  const env = { ...process.env, LC_ALL: 'C' };
  await run('tar', [...REPRODUCIBLE, '-C', folder, '-cf', file, ...names], { env });
}

/** As `writeTar`, compressed. The header has no name and no time. */
export async function writeTarGz(
  file: string,
  folder: string,
  names: readonly string[],
): Promise<void> {
  const plain = `${file}.tar`;
  await writeTar(plain, folder, names);
  await writeFile(file, await promisify(gzip)(await readFile(plain), { level: 9 }));
  await run('rm', [plain]);
}
