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
  {
    tool: 'kube-score',
    finding: /container-security-context-user-group-id/,
    why: 'user 1001 of the image is kept, so that OpenShift can assign another one',
  },
  {
    tool: 'kube-score',
    finding: /container-resources: manager CPU limit is not set$/,
    why: 'a leader that is throttled may lose its Lease',
  },
  {
    tool: 'kube-score',
    finding: /pod-networkpolicy: The pod does not have a matching egress NetworkPolicy$/,
    why: 'egress is limited on request: ports of API servers differ',
  },
  {
    tool: 'kube-score',
    finding: /container-image-pull-policy/,
    why: 'the tag of a release does not move',
  },
  {
    tool: 'kube-score',
    finding: /container-ephemeral-storage-request-and-limit/,
    why: 'the root file system is read-only, and no volume is written to',
  },
  {
    tool: 'kube-score',
    finding: /deployment-replicas: Deployment few replicas$/,
    why: 'one replica is the leader; replicas that stand by are a value of the chart',
  },
  {
    tool: 'operator-sdk',
    finding: /deprecated and removed in v1[.]25.*ClusterPermissions\[0\][.]Rules/,
    why: 'rights name groups, not versions: the operator uses the versions that are served',
  },
];

/** Refuses every finding that the list does not keep. */
export class Findings {
  readonly #used = new Set<Accepted>();
  readonly #ran = new Set<string>();

  constructor(private readonly accepted: readonly Accepted[] = ACCEPTED) {}

  /** @returns how many of the findings are kept, as text @throws Error listing the others */
  add(tool: string, findings: readonly string[]): string {
    this.#ran.add(tool);
    const refused = findings.filter((finding) => !this.#accepts(tool, finding));
    if (refused.length > 0) throw new Error(`${tool}:\n  ${refused.join('\n  ')}`);
    return findings.length === 0 ? '' : `, ${findings.length} kept`;
  }

  /** Entries of the tools that ran, which matched nothing. */
  unused(): readonly Accepted[] {
    return this.accepted.filter((entry) => this.#ran.has(entry.tool) && !this.#used.has(entry));
  }

  #accepts(tool: string, finding: string): boolean {
    const entry = this.accepted.find((each) => each.tool === tool && each.finding.test(finding));
    if (entry) this.#used.add(entry);
    return entry !== undefined;
  }
}
