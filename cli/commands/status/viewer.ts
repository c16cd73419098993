import { canonicalJson } from '../../../constructs/kit/hash.js';
import type { IOStreams } from '../../arguments/command.js';
import { toYaml } from '../../io/yaml.js';
import { footerOf, hidden, linesOf } from './summary.js';
import { renderTrees } from './render-tree.js';
import { Screen } from './terminal-screen.js';
import type { Form, StatusReport } from './reporter.js';

/**
 * Shows reports one after the other: on a terminal in place; elsewhere a line for each resource that has
 * changed, or a document for each report that says something new.
 */
export class Viewer {
  readonly #screen: Screen;
  #last: StatusReport | undefined;
  #told: ReadonlyMap<string, string> = new Map<string, string>();
  readonly #notes = new Set<string>();
  #document = '';

  constructor(
    private readonly io: Pick<IOStreams, 'colours' | 'terminal' | 'write'>,
    private readonly form: Form,
    private readonly all: boolean,
  ) {
    this.#screen = new Screen(io);
  }

  show(report: StatusReport): void {
    this.#last = report;
    const { terminal, write } = this.io;
    if (this.form !== 'tree') {
      const document = canonicalJson(report);
      if (document === this.#document) return;
      this.#document = document;
      write(this.form === 'json' ? `${JSON.stringify(report)}\n` : `---\n${toYaml([report])}`);
      return;
    }
    if (terminal) {
      this.#screen.show(this.#lines(report));
      return;
    }
    const lines = linesOf(report);
    for (const [key, line] of lines) if (this.#told.get(key) !== line) write(`${line}\n`);
    for (const [key, line] of this.#told)
      if (!lines.has(key)) write(`${line.replace(/:.*/s, '')}: gone\n`);
    this.#told = lines;
    for (const note of hidden(report.omitted)) {
      if (this.#notes.has(note)) continue;
      this.#notes.add(note);
      write(`${note}\n`);
    }
  }

  /** Leaves the last report on the terminal, whole. */
  end(): void {
    if (this.form === 'tree' && this.io.terminal && this.#last)
      this.#screen.end(this.#lines(this.#last));
  }

  #lines(report: StatusReport): readonly string[] {
    const { colours, terminal } = this.io;
    const lines = renderTrees(report.resources, {
      colours,
      columns: terminal?.().columns,
      now: Date.now(),
      all: this.all,
      namespaces: report.namespace === null,
    });
    return [...lines, ...footerOf(report)];
  }
}
