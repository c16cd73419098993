import { Session } from 'node:inspector/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { projectRoot } from '../../testbed/project-root.js';

const LIB = path.join(projectRoot(), 'dist/lib');

/** The source files of this process whose functions are called. */
export class CalledFiles {
  readonly #session = new Session();

  private constructor() {
    this.#session.connect();
  }

  /** Begins to count calls. */
  static async start(): Promise<CalledFiles> {
    const called = new CalledFiles();
    await called.#session.post('Profiler.enable');
    await called.#session.post('Profiler.startPreciseCoverage', { callCount: true });
    await called.take();
    return called;
  }

  /** The files with calls since the last time, such as `runner/cache/store.ts`, from which counts begin at zero. */
  async take(): Promise<readonly string[]> {
    const { result } = await this.#session.post('Profiler.takePreciseCoverage');
    return result
      .filter(({ functions }) =>
        // The first function of a module is its own body, which runs when it is loaded.
        functions.some(
          ({ functionName, ranges }) => functionName !== '' && (ranges[0]?.count ?? 0) > 0,
        ),
      )
      .flatMap(({ url }) => {
        const file = url.startsWith('file:') ? path.relative(LIB, fileURLToPath(url)) : '..';
        return file.startsWith('..') ? [] : [file.replace(/\.js$/, '.ts')];
      })
      .sort();
  }

  stop(): void {
    this.#session.disconnect();
  }
}
