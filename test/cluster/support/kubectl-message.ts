import type { Cluster } from '../harness.js';

/** The output of kubectl, without its notes about itself and about checks that were not made. */
export async function kubectlMessage(
  cluster: Cluster,
  namespace: string,
  args: readonly string[],
  input?: unknown,
): Promise<string> {
  const all = [`--namespace=${namespace}`, ...args];
  try {
    return await cluster.controlPlane.kubectl(all, input ? JSON.stringify(input) : undefined);
  } catch (error) {
    const [, message = ''] = / ended with 1: ([^]*)$/.exec((error as Error).message) ?? [];
    return message
      .replace(/^The (App|Site)\w+ "[^"]*" is invalid: ?/, '')
      .replace(/^Error from server \(BadRequest\): .* strict decoding error: /, '')
      .split('\n')
      .filter((line) => line.trim() !== '' && !line.startsWith('* <nil>'))
      .map((line) => line.replace(/^\* /, ''))
      .join('\n');
  }
}
