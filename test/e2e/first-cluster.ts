/** Tests that share one cluster, one after the other; `second-cluster.ts` has the others. */
import './adopt.test.js';
import './database-certificates.test.js';
import './databases.test.js';
import './faults.test.js';
import './first-site.test.js';
import './import.test.js';
import './node.test.js';
import './printing.test.js';
import './serving.test.js';
import './volumes.test.js';
