import { canonicalJson } from '../../../constructs/kit/json/hash.js';
import type { IOStreams } from '../../io/streams.js';
import { toYaml } from '../../io/yaml.js';
import { renderTrees } from './render-tree.js';
import type { Form, StatusReport } from './reporter.js';
import { omissionLines, resourceLines, summaryOf } from './summary.js';
import { TerminalScreen } from './terminal-screen.js';

/**
 * Shows a sequence of reports. A terminal shows the tree in place. Other outputs get a line for each changed
 * resource, or a document for each changed report.
 */
export class Viewer {
  readonly #screen: TerminalScreen;
  #last: StatusReport | undefined;
  #lines: ReadonlyMap<string, string> = new Map<string, string>();
  readonly #notes = new Set<string>();
  #document = '';

  constructor(
    private readonly io: Pick<IOStreams, 'colours' | 'terminal' | 'write'>,
    private readonly form: Form,
    private readonly all: boolean,
  ) {
    this.#screen = new TerminalScreen(io);
  }

  show(report: StatusReport): void {
    this.#last = report;
    if (this.form !== 'tree') this.#writeDocument(report);
    else if (this.io.terminal) this.#screen.show(this.#treeOf(report));
    else this.#writeChanges(report);
  }

  /** Leaves the last report on the terminal, in full. */
  end(): void {
    if (this.form === 'tree' && this.io.terminal && this.#last)
      this.#screen.end(this.#treeOf(this.#last));
  }

  #writeDocument(report: StatusReport): void {
    const document = canonicalJson(report);
    if (document === this.#document) return;
    this.#document = document;
    const isJson = this.form === 'json';
    this.io.write(isJson ? `${JSON.stringify(report)}\n` : `---\n${toYaml([report])}`);
  }

  #writeChanges(report: StatusReport): void {
    const { write } = this.io;
    const lines = resourceLines(report);
    for (const [key, line] of lines) if (this.#lines.get(key) !== line) write(`${line}\n`);
    for (const [key, line] of this.#lines)
      if (!lines.has(key)) write(`${line.replace(/:.*/s, '')}: deleted\n`);
    this.#lines = lines;
    for (const note of omissionLines(report.omitted)) {
      if (this.#notes.has(note)) continue;
      this.#notes.add(note);
      write(`${note}\n`);
    }
  }

  #treeOf(report: StatusReport): readonly string[] {
    const { colours, terminal } = this.io;
    const lines = renderTrees(report.resources, {
      colours,
      columns: terminal?.().columns,
      now: Date.now(),
      all: this.all,
      namespaces: report.namespace === null,
    });
    return [...lines, ...summaryOf(report)];
  }
}
