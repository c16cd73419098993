/** A sample of a Prometheus exposition. */
export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** The metrics of an operator process: `/metrics` on a port of 127.0.0.1. */
export class OperatorMetrics {
  constructor(private readonly port: number) {}

  async samples(): Promise<readonly Sample[]> {
    const response = await fetch(`http://127.0.0.1:${this.port}/metrics`);
    const text = await response.text();
    return [...text.matchAll(/^([a-z_0-9]+)(?:\{(.*)\})? (\S+)$/gm)].map(
      ([, name = '', labels = '', value]) => ({
        name,
        labels: Object.fromEntries(
          [...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, key = '', text = '']) => [key, text]),
        ),
        value: Number(value),
      }),
    );
  }

  /** The sum of the samples of a name that a condition on their labels accepts. */
  async sum(
    name: string,
    accepts: (labels: Readonly<Record<string, string>>) => boolean = () => true,
  ): Promise<number> {
    const samples = await this.samples();
    return samples
      .filter((sample) => sample.name === `app_operator_${name}` && accepts(sample.labels))
      .reduce((total, { value }) => total + value, 0);
  }

  /** Calls to the API server by verb. */
  async calls(): Promise<ReadonlyMap<string, number>> {
    const calls = new Map<string, number>();
    for (const { name, labels, value } of await this.samples()) {
      const verb = labels['verb'] ?? '';
      if (name === 'app_operator_api_calls_total') calls.set(verb, (calls.get(verb) ?? 0) + value);
    }
    return calls;
  }

  /** Writing calls, those of Events included. */
  async writes(): Promise<number> {
    const calls = await this.calls();
    return ['create', 'apply', 'patch', 'update', 'delete'].reduce(
      (total, verb) => total + (calls.get(verb) ?? 0),
      0,
    );
  }
}
