import type { Command } from '../../arguments/command.js';
import { RETAINED_FLAGS } from './flags.js';

/** The owners are deleted: their names are no names of resources. */
async function ownerKinds(): Promise<readonly string[]> {
  const [{ OWNER_KINDS }, { shortNameOf }] = await Promise.all([
    import('./retained-data.js'),
    import('../../kube/kind-names.js'),
  ]);
  return OWNER_KINDS.map(({ definition }) => `${shortNameOf(definition.singular)}/`);
}

export const retained: Command<typeof RETAINED_FLAGS> = {
  name: 'retained',
  summary: 'list what deleted benches and sites have left under Retain, and delete it',
  synopsis: '[KIND[/NAME]]',
  details: `
Objects that hold data stay after their bench or site was deleted with deletionPolicy Retain: volumes,
Secrets, and database servers, which still run. A new bench or site of the same name takes them over.

  retained -A                                        all of them, with what they cost
  retained bench/demo --delete --confirm demo        delete those of one bench, with all data`,
  flags: RETAINED_FLAGS,
  positionals: { most: 2, complete: ownerKinds },
  load: async () => (await import('./run.js')).runRetained,
};
