import type { IOStreams } from '../../io/streams.js';

const UP = (lines: number): string => (lines > 0 ? `\x1b[${lines}A` : '');
const CLEAR_BELOW = '\r\x1b[J';

/** Shows text on a terminal, and replaces it in place. */
export class TerminalScreen {
  #height = 0;

  constructor(private readonly io: Pick<IOStreams, 'terminal' | 'write'>) {}

  /** @param lines none wider than the terminal; lines that exceed its height are left out */
  show(lines: readonly string[]): void {
    const { rows = Infinity } = this.io.terminal?.() ?? {};
    const fits = lines.length < rows ? lines : [...lines.slice(0, Math.max(0, rows - 2)), '…'];
    this.io.write(`${UP(this.#height)}${CLEAR_BELOW}${fits.join('\n')}\n`);
    this.#height = fits.length;
  }

  /** Shows the last text in full. */
  end(lines: readonly string[]): void {
    this.io.write(`${UP(this.#height)}${CLEAR_BELOW}${lines.join('\n')}\n`);
    this.#height = 0;
  }
}
