import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { run } from '../../testbed/controlplane/run.js';
import { ensureTool } from './external-tools.js';

/** A registry on this machine, which keeps what it is given for as long as it runs. */
export interface Registry extends AsyncDisposable {
  /** `127.0.0.1:PORT`. */
  readonly address: string;
}

const ATTEMPTS = 100;
const PAUSE_MS = 100;

/** Starts the registry of crane on a free port. @throws Error where it does not answer */
export async function startRegistry(port: number): Promise<Registry> {
  const crane = await ensureTool('crane');
  const address = `127.0.0.1:${port}`;
  const child = spawn(crane, ['registry', 'serve', '--address', address], { stdio: 'ignore' });
  const stop = (): void => void child.kill();
  process.once('exit', stop);
  for (let attempt = 0; ; attempt++) {
    const answers = await run(crane, ['catalog', address]).then(
      () => true,
      () => false,
    );
    if (answers) break;
    if (attempt === ATTEMPTS) throw new Error(`registry ${address}: no answer`);
    await sleep(PAUSE_MS);
  }
  return {
    address,
    [Symbol.asyncDispose]: () => {
      stop();
      return Promise.resolve();
    },
  };
}
