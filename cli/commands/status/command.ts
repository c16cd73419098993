import type { Command } from '../../arguments/command.js';
import { STATUS_FLAGS } from './flags.js';

/** Names of kinds, such as `bench/`; the names of resources are only in the cluster. */
async function kindNames(): Promise<readonly string[]> {
  const { DEFINITIONS } = await import('../../../constructs/registry.js');
  const { shortNameOf } = await import('../../kube/kind-names.js');
  return DEFINITIONS.map(({ singular }) => `${shortNameOf(singular)}/`);
}

export const status: Command<typeof STATUS_FLAGS> = {
  name: 'status',
  summary: 'show benches and sites as a tree, with their health and what they wait for',
  synopsis: '[KIND[/NAME]]',
  details: `
Healthy resources are collapsed. Others are shown down to the pod, with the last lines of its log. The
command needs read permission only, and lists what it could not read. Exit code 1: the resource was not
found, or nothing could be read.

  status                        all benches and sites of the namespace
  status site/shop              one resource; kinds as in kubectl get, such as bench, as, appsite.app-operator.io
  watch -n2 -c app-operator status   the tree every two seconds`,
  flags: STATUS_FLAGS,
  positionals: { most: 2, complete: kindNames },
  load: async () => (await import('./run.js')).runStatus,
};
