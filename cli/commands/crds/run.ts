import type { Run } from '../../arguments/command.js';
import type { API_GROUP_FLAGS } from '../../arguments/shared-flags.js';
import { crdManifest } from '../install/manifest.js';

export const runCrds: Run<typeof API_GROUP_FLAGS> = ({ values }) => ({
  out: crdManifest(values['api-group']),
  code: 0,
});
