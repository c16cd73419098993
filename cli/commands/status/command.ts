import type { Command } from '../../arguments/command.js';
import {
  ALL_NAMESPACES_FLAGS,
  API_GROUP_FLAGS,
  CLUSTER_FLAGS,
  enable,
  outputFlags,
} from '../../arguments/shared-flags.js';

export const STATUS_FLAGS = {
  ...CLUSTER_FLAGS,
  ...ALL_NAMESPACES_FLAGS,
  all: enable('show every object, also healthy ones'),
  watch: enable('follow changes until Ctrl-C', 'w'),
  ...outputFlags('tree', 'json', 'yaml'),
  ...API_GROUP_FLAGS,
};

export const status: Command<typeof STATUS_FLAGS> = {
  name: 'status',
  summary: 'show benches and sites as a tree, with their health and what they wait for',
  synopsis: '[KIND[/NAME]]',
  details: `
Healthy resources are collapsed. Others are shown down to the pod, with the last lines of its log. The
command needs read permission only, and lists what it could not read. Exit code 1: the resource was not
found, or nothing could be read.

  status                        all benches and sites of the namespace
  status site/shop              one resource; kinds as in kubectl get, such as bench, as, SiteBackup
  status --watch                the tree again after each change`,
  flags: STATUS_FLAGS,
  positionals: { most: 2, complete: 'resource' },
  load: async () => (await import('./run.js')).runStatus,
};
