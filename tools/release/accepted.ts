/** What a linter reports and we keep. */
export interface Accepted {
  readonly tool: string;
  /** Matches the finding. */
  readonly finding: RegExp;
  /** Why it is kept. */
  readonly why: string;
}

/** An entry that matches nothing fails the rehearsal: what a linter no longer reports leaves the list. */
export const ACCEPTED: readonly Accepted[] = [
  {
    tool: 'helm lint',
    finding: /icon is recommended/,
    why: 'an icon has a URL, and nothing is published yet',
  },
];

/** Splits findings into those that are kept and those that are not. */
export class Findings {
  readonly #used = new Set<Accepted>();

  constructor(private readonly accepted: readonly Accepted[] = ACCEPTED) {}

  /** @returns how many of the findings are kept, as text @throws Error listing the others */
  add(tool: string, findings: readonly string[]): string {
    const refused = findings.filter((finding) => !this.#accepts(tool, finding));
    if (refused.length > 0) throw new Error(`${tool}:\n  ${refused.join('\n  ')}`);
    return findings.length === 0 ? '' : `, ${findings.length} kept`;
  }

  /** Entries of the tools that ran, which matched nothing. */
  unused(tools: ReadonlySet<string>): readonly Accepted[] {
    return this.accepted.filter((entry) => tools.has(entry.tool) && !this.#used.has(entry));
  }

  #accepts(tool: string, finding: string): boolean {
    const entry = this.accepted.find((each) => each.tool === tool && each.finding.test(finding));
    if (entry) this.#used.add(entry);
    return entry !== undefined;
  }
}
