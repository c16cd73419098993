import {
  ALL_NAMESPACES_FLAGS,
  API_GROUP_FLAGS,
  CLUSTER_FLAGS,
  enable,
  outputFlags,
} from '../../arguments/shared-flags.js';

export const STATUS_FLAGS = {
  ...CLUSTER_FLAGS,
  ...ALL_NAMESPACES_FLAGS,
  all: enable('show every object, also healthy ones'),
  ...outputFlags('tree', 'json', 'yaml'),
  ...API_GROUP_FLAGS,
};
