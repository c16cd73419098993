/** What a run of tests has measured, printed as a table at its end. */
export class Figures {
  readonly #rows: (readonly [what: string, value: string])[] = [];

  /** @param value with its unit, such as `4.2 s` */
  add(what: string, value: string): void {
    this.#rows.push([what, value]);
  }

  /** Measures how long some work takes. */
  async time<T>(what: string, work: () => Promise<T>): Promise<T> {
    const begun = performance.now();
    const result = await work();
    this.add(what, seconds(performance.now() - begun));
    return result;
  }

  print(): void {
    const width = Math.max(0, ...this.#rows.map(([what]) => what.length));
    const lines = this.#rows.map(([what, value]) => `  ${what.padEnd(width)}  ${value}\n`);
    if (lines.length > 0) process.stdout.write(`\nFigures\n${lines.join('')}\n`);
  }
}

/** `4.2 s` */
export function seconds(milliseconds: number): string {
  return `${(milliseconds / 1_000).toFixed(1)} s`;
}
