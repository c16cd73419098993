/**
 * Runs Python programs of a bench in forks of a process that has imported their modules before, as
 * gunicorn does with `--preload`: a program of the framework takes a tenth of a second to import.
 */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { type Env, plainEnv, temporaryDirectory } from '../jobs/servers.js';
import type { CommandResult } from './fixture.js';

/** A file to run, or a module with its arguments. */
export interface Program {
  readonly file?: string;
  readonly module?: string;
  readonly args?: readonly string[];
  readonly cwd?: string;
  readonly env: Env;
}

/** Forks for each line of its input. It imports what the programs before have imported. */
const SERVER = `
import contextlib, importlib, json, os, runpy, sys, traceback

replies = os.fdopen(os.dup(1), "w")


def run(program):
    os.environ.clear()
    os.environ.update(program["env"])
    os.chdir(program["cwd"])
    output = os.open(program["output"], os.O_WRONLY | os.O_CREAT)
    for number, source in ((0, os.open(os.devnull, os.O_RDONLY)), (1, output), (2, output)):
        os.dup2(source, number)
    try:
        if program["file"]:
            sys.argv = [program["file"]]
            sys.path.insert(0, os.path.dirname(program["file"]))
            runpy.run_path(program["file"], run_name="__main__")
        else:
            sys.argv = [program["module"], *program["args"]]
            runpy.run_module(program["module"], run_name="__main__", alter_sys=True)
    except SystemExit as end:
        if not isinstance(end.code, (int, type(None))):
            print(end.code, file=sys.stderr)
            return 1
        return end.code or 0
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


for line in sys.stdin:
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        replies.close()
        os.close(reader)
        code = run(json.loads(line))
        sys.stdout.flush()
        with os.fdopen(writer, "w") as names:
            names.write("\\n".join(name for name in sys.modules if name.startswith("frappe")))
        os._exit(code)
    os.close(writer)
    with os.fdopen(reader) as names:
        imported = names.read().split()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    for name in imported:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    print(code, file=replies, flush=True)
`;

type Server = ChildProcessByStdio<Writable, Readable, null>;

/** One program after the other. */
export class WarmPython {
  readonly #server: Server;
  readonly #replies: AsyncIterator<string>;
  #last: Promise<unknown> = Promise.resolve();

  constructor(python: string, env: Env) {
    const options = { env: plainEnv({ ...env, PYTHONDONTWRITEBYTECODE: '1' }) };
    const stdio = ['pipe', 'pipe', 'inherit'] as const;
    this.#server = spawn(python, ['-c', SERVER], { ...options, stdio: [...stdio] });
    this.#replies = createInterface({ input: this.#server.stdout })[Symbol.asyncIterator]();
  }

  run(program: Program): Promise<CommandResult> {
    const result = this.#last.then(() => this.#run(program));
    this.#last = result.catch(() => undefined);
    return result;
  }

  async #run({ file, module, args = [], cwd = '/', env }: Program): Promise<CommandResult> {
    const output = join(temporaryDirectory(), 'output');
    const request = { file: file ?? '', module, args, cwd, env: plainEnv(env), output };
    this.#server.stdin.write(`${JSON.stringify(request)}\n`);
    const reply = await this.#replies.next();
    if (reply.done === true) throw new Error('the server of Python programs has ended');
    return { code: Number(reply.value), output: readFileSync(output, 'utf8') };
  }

  async stop(): Promise<void> {
    const ended = once(this.#server, 'exit');
    this.#server.stdin.end();
    await ended;
  }
}
