import type { CommandFlags, Run } from '../../arguments/command.js';
import { UsageError } from '../../arguments/errors.js';
import { SCRIPTS, SHELLS } from './scripts.js';

export const runCompletion: Run<CommandFlags> = ({ positionals: [shell = ''] }) => {
  const known = SHELLS.find((one) => one === shell);
  if (known === undefined)
    throw new UsageError(
      `completion needs a shell: got ${JSON.stringify(shell)}, allowed: ${SHELLS.join(', ')}`,
    );
  return { out: SCRIPTS[known], code: 0 };
};
