/** Tests that share one cluster; `second-cluster.ts` has the others. */
import { sideBySide } from './support/side-by-side.js';

// What disturbs the node, or loses requests where it is busy, runs one after the other.
import './adopt.test.js';
import './faults.test.js';
import './first-site.test.js';
import './testbed-node.test.js';
import './requests.test.js';
import './serving.test.js';

sideBySide({
  databases: () => import('./databases.test.js'),
  'database-certificates': () => import('./database-certificates.test.js'),
  printing: () => import('./printing.test.js'),
  volumes: () => import('./volumes.test.js'),
  import: () => import('./import.test.js'),
});
