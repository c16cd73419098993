import type { Command } from '../../arguments/command.js';
import { ADOPT_FLAGS } from './flags.js';

export const adopt: Command<typeof ADOPT_FLAGS> = {
  name: 'adopt',
  summary: 'print an AppBench and AppSites that take a release of the chart frappe/helm over',
  details: `
Reads a release of the chart erpnext of frappe/helm, and prints resources that use its volume, its
database and its Redis in place. It changes nothing: apply what it prints.

  adopt --release erp -n shop                    what is taken over, what is lost, what to run
  adopt --release erp -n shop -o yaml            the resources, to be committed`,
  flags: ADOPT_FLAGS,
  load: async () => (await import('./run.js')).runAdopt,
};
