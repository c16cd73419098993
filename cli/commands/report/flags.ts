import { text } from '../../../runner/config/parsers.js';
import type { CommandFlags } from '../../arguments/command.js';
import {
  ALL_NAMESPACES_FLAGS,
  API_GROUP_FLAGS,
  CLUSTER_FLAGS,
} from '../../arguments/shared-flags.js';

export const REPORT_FLAGS = {
  ...CLUSTER_FLAGS,
  ...ALL_NAMESPACES_FLAGS,
  'operator-namespace': {
    value: text,
    placeholder: 'NAME',
    help: 'namespace of the operator (default app-operator-system)',
  },
  output: {
    value: text,
    short: 'o',
    placeholder: 'FILE',
    help: 'the archive (default app-operator-report-<time>.tar.gz)',
    complete: 'file',
  },
  ...API_GROUP_FLAGS,
} satisfies CommandFlags;
