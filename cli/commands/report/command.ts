import type { Command } from '../../arguments/command.js';
import { REPORT_FLAGS } from './flags.js';

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
