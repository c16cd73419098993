/** Tests that share one cluster, one after the other; `first-cluster.ts` has the others. */
import './autoscaling.test.js';
import './change.test.js';
import './database-tls.test.js';
import './gateway.test.js';
import './operator-network.test.js';
import './removal.test.js';
import './requests.test.js';
import './security.test.js';
import './settings.test.js';
import './site-kinds.test.js';
import './upgrade.test.js';
import './web-autoscaling.test.js';
import './webhooks.test.js';
