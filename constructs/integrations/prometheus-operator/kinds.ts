import { optionalKind } from '../../kit/object-kind.js';

const API = 'monitoring.coreos.com/v1';

export const ServiceMonitor = optionalKind(API, 'ServiceMonitor', 'servicemonitors');
export const PrometheusRule = optionalKind(API, 'PrometheusRule', 'prometheusrules');
