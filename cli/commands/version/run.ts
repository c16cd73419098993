import { oneOf } from '../../../runner/config/parsers.js';
import { VERSION } from '../../../runner/version.js';
import type { Run } from '../../arguments/command.js';

export const versionCommand: Run = (args) => {
  const form = args.value('output', oneOf({ text: 'text', json: 'json' })) ?? 'text';
  const out =
    form === 'json' ? JSON.stringify({ version: VERSION, node: process.version }) : VERSION;
  return { out: `${out}\n`, code: 0 };
};
