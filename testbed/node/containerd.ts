import { setTimeout as sleep } from 'node:timers/promises';

import { run } from '../controlplane/run.js';

/** Its databases are written to a disk that may be busy with images. */
const SERVING_MS = 180_000;

/** containerd's client for images, as Kubernetes sees them. */
export class Containerd {
  constructor(private readonly socket: string) {}

  /** Waits until the kubelet can use it: it exits where it cannot. */
  async serving(): Promise<void> {
    const end = performance.now() + SERVING_MS;
    for (;;) {
      const plugins = await this.#ctr('plugins', 'ls').catch((error: unknown) => String(error));
      if (/\bcri\b.*\bok\b/.test(plugins)) return;
      if (performance.now() > end) throw new Error(`containerd serves no pods:\n${plugins}`);
      await sleep(50);
    }
  }

  async import(archive: string): Promise<void> {
    await this.#ctr('images', 'import', archive);
  }

  /** References of all images. */
  async images(): Promise<string[]> {
    return (await this.#ctr('images', 'ls', '--quiet')).split('\n').filter(Boolean);
  }

  #ctr(...args: readonly string[]): Promise<string> {
    return run('ctr', ['--address', this.socket, '--namespace', 'k8s.io', ...args]);
  }
}
