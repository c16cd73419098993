import { access, cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { PAUSE_IMAGE } from './configs.js';
import { buildImage } from './oci.js';

/** Makes the image of every pod's sandbox beside its program; returns the path of the archive. */
export async function pauseImage(program: string): Promise<string> {
  const archive = `${program}.tar`;
  const exists = await access(archive).then(
    () => true,
    () => false,
  );
  if (exists) return archive;
  const layer = await mkdtemp(path.join(tmpdir(), 'app-operator-pause-'));
  try {
    await cp(program, path.join(layer, 'pause'));
    const config = { Entrypoint: ['/pause'], User: '65535:65535' };
    await buildImage({ name: PAUSE_IMAGE, layers: [layer], config }, archive);
  } finally {
    await rm(layer, { recursive: true, force: true });
  }
  return archive;
}
