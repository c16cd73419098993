import { createHash } from 'node:crypto';
import { existsSync, statSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rename, rm, stat, utimes } from 'node:fs/promises';
import path from 'node:path';

import { cacheRoot } from '../controlplane/binaries.js';
import type { ImageConfig } from '../node/oci.js';
import { run } from '../controlplane/run.js';

const KEPT_MS = 3_600_000;

/** What the last stage of a Dockerfile is. */
export interface Build {
  /** Folder that stands for `/` on top of the base image; not to be written to. */
  readonly folder: string;
  readonly config: ImageConfig;
}

interface Stage {
  readonly name: string;
  /** Folder of what its steps have made. */
  readonly cache: string;
  /** Identifies what the instructions so far have made. */
  key: string;
  workdir: string;
  readonly env: Record<string, string>;
  readonly config: { User?: string; Entrypoint?: readonly string[] };
  /** Instructions since the last folder that is in the cache. */
  pending: ((folder: string) => Promise<void>)[];
  folder: string | undefined;
}

/**
 * Builds an image from our Dockerfile with this machine's programs: files are copied
 * below a folder and commands run there, so that they may only use what is in WORKDIR. Each step is
 * kept in the cache by what went into it.
 *
 * @param cache folder of the steps; an empty one builds everything again
 * @throws Error for an instruction that it does not know: nothing is left out without a word.
 */
export async function buildDockerfile(
  context: string,
  cache = path.join(cacheRoot(), 'images', 'steps'),
): Promise<Build> {
  const stages: Stage[] = [];
  const text = await readFile(path.join(context, 'Dockerfile'), 'utf8');
  for (const line of instructions(text)) {
    const [, word = '', rest = ''] = /^(\S+)\s+(.*)$/s.exec(line) ?? [];
    if (word === 'FROM') stages.push(newStage(rest, cache));
    // Arguments outside of a stage choose base images, which are Debian's here; labels say nothing
    // here.
    else if (word !== 'ARG' && word !== 'LABEL' && word !== 'EXPOSE') {
      const stage = stages.at(-1);
      if (!stage) throw new Error(`Dockerfile: ${word} before FROM`);
      await apply(stage, word, rest, { context, stages });
    }
  }
  const last = stages.at(-1);
  if (!last) throw new Error('Dockerfile: no FROM');
  const { config, env, workdir } = last;
  const Env = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const folder = await done(last);
  await removeOld(path.dirname(folder));
  return { folder, config: { ...config, Env, WorkingDir: workdir } };
}

/** One text for each instruction: lines that go on are joined, comments left out. */
function instructions(text: string): string[] {
  return text
    .split('\n')
    .filter((line) => !/^\s*(#|$)/.test(line))
    .join('\n')
    .replace(/\\\n\s*/g, '')
    .split('\n');
}

function newStage(from: string, cache: string): Stage {
  const name = / AS (\S+)$/i.exec(from)?.[1] ?? '';
  return {
    name,
    cache,
    key: '',
    workdir: '/',
    env: {},
    config: {},
    pending: [],
    folder: undefined,
  };
}

async function apply(
  stage: Stage,
  word: string,
  rest: string,
  { context, stages }: { readonly context: string; readonly stages: readonly Stage[] },
): Promise<void> {
  switch (word) {
    case 'WORKDIR':
      stage.workdir = rest;
      return;
    case 'ENV':
      for (const pair of rest.split(/\s+/)) {
        const [, name = '', value = ''] = /^([^=]+)=([^"']*)$/.exec(pair) ?? [];
        if (!name) throw new Error(`Dockerfile: ENV ${rest}`);
        stage.env[name] = value;
      }
      return;
    case 'USER':
      stage.config.User = rest;
      return;
    case 'ENTRYPOINT':
      stage.config.Entrypoint = JSON.parse(rest) as readonly string[];
      return;
    case 'COPY':
      await copy(stage, rest, context, stages);
      return;
    case 'RUN':
      await command(stage, rest);
      return;
    default:
      throw new Error(`Dockerfile: ${word} is not known`);
  }
}

async function copy(
  stage: Stage,
  rest: string,
  context: string,
  stages: readonly Stage[],
): Promise<void> {
  const words = rest.split(/\s+/);
  const from = words[0]?.startsWith('--from=') ? words.shift()?.slice(7) : undefined;
  const target = path.resolve(stage.workdir, words.pop() ?? '');
  const into = rest.endsWith('/');
  const source = from === undefined ? undefined : stages.find(({ name }) => name === from);
  if (from !== undefined && !source) throw new Error(`Dockerfile: no stage ${from}`);
  const root = source ? await done(source) : context;
  const files = words.map((word) => (source ? path.join(root, word) : path.resolve(root, word)));
  stage.key = hash(stage.key, rest, source ? source.key : await contentOf(context, words));
  stage.pending.push(async (folder) => {
    for (const file of files) {
      // Of a folder, what is in it is copied.
      const named = into && !statSync(file).isDirectory();
      const to = path.join(folder, target, named ? path.basename(file) : '');
      await mkdir(path.dirname(to), { recursive: true });
      await run('cp', ['--archive', '--no-target-directory', file, to]);
    }
  });
}

async function command(stage: Stage, text: string): Promise<void> {
  stage.key = hash(stage.key, stage.workdir, text, process.version);
  stage.pending.push(async (folder) => {
    const cwd = path.join(folder, stage.workdir);
    await mkdir(cwd, { recursive: true });
    // The commands of our own Dockerfile, with the Node.js that runs this.
    const PATH = `${path.dirname(process.execPath)}:${process.env.PATH ?? ''}`;
    await run('sh', ['-ec', text], { cwd, env: { ...process.env, ...stage.env, PATH } });
  });
  stage.folder = await done(stage);
  stage.pending = [];
}

/** The stage's folder: from the cache, or made by what is pending. */
async function done(stage: Stage): Promise<string> {
  if (stage.pending.length === 0 && stage.folder !== undefined) return stage.folder;
  const folder = path.join(stage.cache, stage.key);
  if (!existsSync(folder)) {
    await mkdir(stage.cache, { recursive: true });
    const draft = await mkdtemp(`${folder}.`);
    try {
      // Links cost nothing; no step writes into a file that is there.
      if (stage.folder) await run('cp', ['--archive', '--link', '-T', stage.folder, draft]);
      for (const step of stage.pending) await step(draft);
      await rename(draft, folder).catch((error: unknown) => {
        if (!existsSync(folder)) throw error;
      });
    } finally {
      await rm(draft, { recursive: true, force: true });
    }
  }
  const now = new Date();
  // Says when it was last used.
  await utimes(folder, now, now);
  return folder;
}

/** Removes steps that no build has used for a while. */
async function removeOld(steps: string): Promise<void> {
  for (const name of await readdir(steps)) {
    const folder = path.join(steps, name);
    const found = await stat(folder).catch(() => undefined);
    if (found && Date.now() - found.mtimeMs > KEPT_MS) await rm(folder, { recursive: true });
  }
}

/** Identifies files by what is in them. */
async function contentOf(context: string, files: readonly string[]): Promise<string> {
  const list = await run('find', [...files, '-type', 'f', '-print0'], { cwd: context });
  const names = list.split('\0').filter(Boolean).sort();
  const sums = createHash('sha256');
  for (const name of names) sums.update(name).update(await readFile(path.join(context, name)));
  return sums.digest('hex');
}

function hash(...parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 24);
}
