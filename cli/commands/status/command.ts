import type { Command } from '../../arguments/command.js';
import { STATUS_FLAGS } from './flags.js';

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
  status --watch                the tree again after each change`,
  flags: STATUS_FLAGS,
  positionals: { most: 2, complete: 'resource' },
  load: async () => (await import('./run.js')).runStatus,
};
