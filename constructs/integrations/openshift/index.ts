import type { Integration } from '../../kit/integration.js';
import { Route, SecurityContextConstraints } from './kinds.js';
import { routes } from './route.js';

/** Routes in place of Ingresses, and pods without user ids. */
export const openShift: Integration = {
  name: 'openshift',
  title: 'OpenShift',
  uses: {
    AppBench: { detects: [SecurityContextConstraints] },
    AppSite: { owns: [Route] },
  },
  access: routes,
};
