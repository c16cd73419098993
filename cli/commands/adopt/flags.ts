import { text } from '../../../runner/config/parsers.js';
import type { CommandFlags } from '../../arguments/command.js';
import { CLUSTER_FLAGS, enable, outputFlags } from '../../arguments/shared-flags.js';

export const ADOPT_FLAGS = {
  ...CLUSTER_FLAGS,
  release: {
    value: text,
    placeholder: 'NAME',
    help: 'name of the Helm release',
  },
  site: {
    value: text,
    placeholder: 'HOST[=DATABASE]',
    help: 'a site of the release, in place of what is found; can be repeated',
    multiple: true,
  },
  bench: {
    value: text,
    placeholder: 'NAME',
    help: 'name of the AppBench (default <release>-bench)',
  },
  'dry-run': enable('only print: all that the command ever does'),
  ...outputFlags('table', 'yaml'),
} satisfies CommandFlags;
