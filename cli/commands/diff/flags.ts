import { text } from '../../../runner/config/parsers.js';
import type { CommandFlags } from '../../arguments/command.js';
import {
  API_GROUP_FLAGS,
  CLUSTER_FLAGS,
  FILE_FLAGS,
  SETTINGS_FLAGS,
} from '../../arguments/shared-flags.js';

export const DIFF_FLAGS = {
  ...FILE_FLAGS,
  ...CLUSTER_FLAGS,
  'field-manager': {
    value: text,
    placeholder: 'NAME',
    help: 'field manager that you apply the files with (default kubectl)',
  },
  ...SETTINGS_FLAGS,
  ...API_GROUP_FLAGS,
} satisfies CommandFlags;
