import { OPERATOR, ServiceMonitor, ServiceMonitorKind, synthesize } from '../constructs/index.js';
import type { KubeObject } from '../constructs/kit/object.js';
import { isNotFound } from './api-error.js';
import { FIELD_MANAGER } from './child.js';
import type { Client } from './client.js';
import type { Logger } from './log.js';
import { resourcePath } from './resource-path.js';
