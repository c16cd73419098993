import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { createInterface } from 'node:readline';

import { errorCode } from './errors.js';
import type { Portion } from './progress.js';

type Advance = (portion: Portion) => void;

interface BuildOptions {
  /** Set by the linker. */
  readonly variables: Readonly<Record<string, string>>;
  /** Folder of the programs. */
  readonly scratch: string;
  /** How many packages have to be compiled. */
  readonly stale: number;
  readonly advance: Advance;
}

/** One Go module and the Go toolchain of the PATH. */
export class GoModule {
  constructor(
    private readonly folder: string,
    /** What is built of it, for messages. */
    private readonly names: readonly string[],
    private readonly tags: readonly string[] = [],
  ) {}

  /** Downloads what the packages need, and counts the packages that have to be compiled. */
  async stale(packages: readonly string[], advance: Advance): Promise<number> {
    const total = await this.#missingModules();
    let done = 0;
    const args = ['list', '-deps', ...this.#flags, '-f={{.Stale}} {{.StaleReason}}', ...packages];
    const lines = await this.#go(args, (line) => {
      if (!line.startsWith('go: downloading ')) return;
      done++;
      advance({ done, total: Math.max(done, total), unit: 'modules' });
    });
    return lines.filter((line) => line.startsWith('true') && !line.includes('build cache')).length;
  }

  /** Compiles the packages and links their programs. */
  async build(packages: readonly string[], options: BuildOptions): Promise<void> {
    const { variables, scratch, stale, advance } = options;
    const defined = Object.entries(variables).map(([name, value]) => `-X ${name}=${value}`);
    const ldflags = ['-s', '-w', ...defined].join(' ');
    // A link counts as a package: it takes as long as several.
    const total = stale + packages.length;
    let started = 0;
    const args = [
      'build',
      '-v',
      ...this.#flags,
      '-ldflags',
      ldflags,
      '-o',
      `${scratch}/`,
      ...packages,
    ];
    await this.#go(args, (line) => {
      if (!/^[\w.-]+(\/[\w.~-]+)*$/.test(line)) return;
      started++;
      advance({ done: Math.min(started, stale), total, unit: 'packages' });
    });
  }

  get #flags(): readonly string[] {
    return ['-mod=readonly', '-trimpath', `-tags=${this.tags.join(',')}`];
  }

  /** How many modules of the module's `go.sum` are not downloaded yet. */
  async #missingModules(): Promise<number> {
    const [cache = ''] = await this.#go(['env', 'GOMODCACHE']);
    const sums = await readFile(path.join(this.folder, 'go.sum'), 'utf8').catch(() => '');
    return sums
      .split('\n')
      .map((line) => line.split(' '))
      .filter(([name, version]) => name && version && !version.endsWith('/go.mod'))
      .filter(([name = '', version = '']) => {
        const escaped = name.replace(/[A-Z]/g, (letter) => `!${letter.toLowerCase()}`);
        return !existsSync(path.join(cache, 'cache/download', escaped, '@v', `${version}.zip`));
      }).length;
  }

  /** Runs the toolchain and returns the lines of its output. */
  #go(args: readonly string[], onLine: (line: string) => void = () => undefined) {
    const child = spawn('go', args, {
      cwd: this.folder,
      env: environment(),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    // An interrupted build must not go on without us.
    const abort = (): void => void child.kill();
    process.once('exit', abort);
    child.once('close', () => process.off('exit', abort));
    const errors: string[] = [];
    const lines: string[] = [];
    createInterface(child.stdout).on('line', (line) => lines.push(line));
    createInterface(child.stderr).on('line', (line) => {
      errors.push(line);
      if (errors.length > ERROR_LINES) errors.shift();
      onLine(line);
    });
    return new Promise<readonly string[]>((resolve, reject) => {
      child.once('error', (error) => {
        reject(errorCode(error) === 'ENOENT' ? this.#goMissing() : error);
      });
      child.once('close', (code, signal) => {
        if (code === 0) resolve(lines);
        else reject(new Error(this.#failure(args[0] ?? '', signal ?? code, errors)));
      });
    });
  }

  #failure(command: string, status: string | number | null, errors: readonly string[]): string {
    return `go ${command} of ${this.names.join(', ')} ended with ${status}:\n${errors.join('\n')}`;
  }

  #goMissing(): Error {
    return new Error(
      `${this.names.join(', ')}: no 'go' on the PATH to build from source; install Go 1.26 or ` +
        'newer, or set KUBEBUILDER_ASSETS to a folder that has the programs',
    );
  }
}

const ERROR_LINES = 60;

/** A workspace or flags of the user's own projects must not reach these builds. */
function environment(): NodeJS.ProcessEnv {
  return {
    // The compiler's processes live for seconds: collecting their garbage costs more than it frees.
    GOGC: '400',
    ...process.env,
    CGO_ENABLED: '0',
    GOWORK: 'off',
    GOFLAGS: '-buildvcs=false',
  };
}
