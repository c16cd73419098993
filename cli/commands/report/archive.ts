import { once } from 'node:events';
import { createWriteStream, type WriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { pack, type Pack } from 'tar-stream';

/** A compressed archive that is streamed to its file, so that it is never held in memory. */
export class Archive {
  readonly #pack: Pack = pack();
  readonly #names: string[] = [];
  readonly #file: WriteStream;
  readonly #written: Promise<void>;

  private constructor(
    path: string,
    private readonly folder: string,
  ) {
    // Readable by its owner only: the content may be confidential.
    this.#file = createWriteStream(path, { flags: 'wx', mode: 0o600 });
    this.#written = pipeline(this.#pack, createGzip(), this.#file);
    this.#written.catch(() => undefined);
  }

  /**
   * Creates an archive. It removes the file after an error.
   * @param folder of all files in the archive
   * @throws when the file already exists, or cannot be written
   */
  static async write(
    path: string,
    folder: string,
    fill: (archive: Archive) => Promise<void>,
  ): Promise<void> {
    const archive = new Archive(path, folder);
    try {
      // A file that cannot be written is an error before the cluster is asked for anything.
      await once(archive.#file, 'open');
      await Promise.race([fill(archive), archive.#failed()]);
      archive.#pack.finalize();
      await archive.#written;
    } catch (error) {
      const exists = (error as NodeJS.ErrnoException).code === 'EEXIST';
      archive.#pack.destroy();
      await archive.#written.catch(() => undefined);
      if (!exists) await rm(path, { force: true });
      throw error;
    }
  }

  /** The names of the files so far. */
  get names(): readonly string[] {
    return this.#names;
  }

  async add(name: string, content: string): Promise<void> {
    this.#names.push(name);
    await new Promise<void>((resolve, reject) => {
      this.#pack.entry({ name: `${this.folder}/${name}`, mode: 0o600 }, content, (error) => {
        if (error) reject(error);
        else resolve();
      });
    });
  }

  #failed(): Promise<never> {
    return new Promise((_, reject) => {
      this.#written.catch(reject);
    });
  }
}
