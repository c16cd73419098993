import { text } from '../../../runner/config/parsers.js';
import type { Command, CommandFlags } from '../../arguments/command.js';
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
    complete: 'namespace',
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

export const report: Command<typeof REPORT_FLAGS> = {
  name: 'report',
  summary: 'write one archive for a bug report, without secrets',
  details: `
The archive holds custom resources, their children, pods, events and logs, the objects and the log of the
operator, and the served APIs. Of Secrets it holds names, keys and sizes; their values are redacted in
every other file. Review it before sharing: MANIFEST.json lists its files.`,
  flags: REPORT_FLAGS,
  load: async () => (await import('./run.js')).runReport,
};
