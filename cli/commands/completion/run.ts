import type { Run } from '../../arguments/command.js';
import { UsageError } from '../../arguments/help.js';
import { SCRIPTS } from './scripts.js';

export const completionCommand: Run = ({ positionals: [shell = ''] }) => {
  const script = Object.hasOwn(SCRIPTS, shell) ? SCRIPTS[shell as keyof typeof SCRIPTS] : undefined;
  if (script === undefined)
    throw new UsageError(
      `completion needs the shell: ${Object.keys(SCRIPTS).join(', ')}; got ${JSON.stringify(shell)}`,
    );
  return { out: script, code: 0 };
};
