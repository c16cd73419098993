/** Tests that share one cluster; `first-cluster.ts` has the others. */
import { sideBySide } from './support/side-by-side.js';

// What disturbs the node, or loses requests where it is busy, runs one after the other.
import './autoscaling.test.js';
import './bench-changes.test.js';
import './gateway.test.js';
import './operator-network.test.js';
import './upgrade.test.js';
import './web-autoscaling.test.js';
import './webhooks.test.js';

sideBySide({
  removal: () => import('./removal.test.js'),
  security: () => import('./security.test.js'),
  'site-kinds': () => import('./site-kinds.test.js'),
  settings: () => import('./settings.test.js'),
  'database-tls': () => import('./database-tls.test.js'),
});
