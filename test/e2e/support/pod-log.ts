import type { E2e } from '../harness.js';

/** The log of a container, without a process of kubectl: tests poll it. */
export function podLog(
  { node }: E2e,
  namespace: string,
  pod: string,
  options: { readonly container?: string; readonly previous?: boolean } = {},
): Promise<string> {
  const query = new URLSearchParams(
    Object.entries(options).map(([name, value]): [string, string] => [name, String(value)]),
  ).toString();
  return node.api.text(`/api/v1/namespaces/${namespace}/pods/${pod}/log?${query}`);
}
