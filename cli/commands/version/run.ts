import { VERSION } from '../../../runner/kit/version.js';
import type { Run } from '../../arguments/command.js';
import type { VERSION_FLAGS } from './flags.js';

export const runVersion: Run<typeof VERSION_FLAGS> = ({ values: { output } }) => {
  const text =
    output === 'json' ? JSON.stringify({ version: VERSION, node: process.version }) : VERSION;
  return { out: `${text}\n`, code: 0 };
};
