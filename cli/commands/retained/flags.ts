import { text } from '../../../runner/config/parsers.js';
import {
  ALL_NAMESPACES_FLAGS,
  API_GROUP_FLAGS,
  CLUSTER_FLAGS,
  enable,
  outputFlags,
} from '../../arguments/shared-flags.js';

export const RETAINED_FLAGS = {
  ...CLUSTER_FLAGS,
  ...ALL_NAMESPACES_FLAGS,
  delete: enable('delete the objects of one owner, with all their data'),
  confirm: {
    value: text,
    placeholder: 'NAME',
    help: 'name of the owner whose data is deleted, to confirm --delete',
  },
  ...outputFlags('table', 'json'),
  ...API_GROUP_FLAGS,
};
