import type { Command } from '../arguments/command.js';
import { adopt } from './adopt/command.js';
import { completion } from './completion/command.js';
import { crds } from './crds/command.js';
import { diff } from './diff/command.js';
import { install } from './install/command.js';
import { render } from './render/command.js';
import { report } from './report/command.js';
import { retained } from './retained/command.js';
import { status } from './status/command.js';
import { version } from './version/command.js';

/** Every command, in the order of the help. A new command is one folder, and one line here. */
export const COMMANDS: readonly Command[] = [
  status,
  diff,
  report,
  retained,
  adopt,
  render,
  crds,
  install,
  completion,
  version,
].map((command) => command as unknown as Command);
