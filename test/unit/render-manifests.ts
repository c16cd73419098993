import { parseAllDocuments } from 'yaml';

import type { KubeObject } from '../../constructs/kit/object.js';

export const API_VERSION = 'app-operator.io/v1alpha1';

/** A bench with what is required, and what is given. */
export const bench = (spec: object = {}, name = 'b', namespace?: string) => ({
  apiVersion: API_VERSION,
  kind: 'AppBench',
  metadata: { name, ...(namespace === undefined ? {} : { namespace }) },
  spec: { frameworkVersion: 'version-15', ...spec },
});
/** A site on the bench `b`. */
export const site = (spec: object = {}, name = 's', namespace?: string) => ({
  apiVersion: API_VERSION,
  kind: 'AppSite',
  metadata: { name, ...(namespace === undefined ? {} : { namespace }) },
  spec: { benchRef: { name: 'b' }, siteName: `${name}.example.com`, ...spec },
});

/** The objects in a text. */
export const objectsIn = (text: string): KubeObject[] =>
  parseAllDocuments(text).map((document) => document.toJS() as KubeObject);
/** `<kind>/<name>` of the objects in a text. */
export const namesIn = (text: string): string[] =>
  objectsIn(text).map(({ kind, metadata }) => `${kind}/${metadata.name}`);

/** The children of a bench `b` and a site `s` with nothing but what is required. */
export const MINIMAL = [
  'ConfigMap/b-config',
  'PersistentVolumeClaim/b-sites',
  'Secret/b-redis-auth',
  'Service/b-redis',
  'PersistentVolumeClaim/b-redis-data',
  'StatefulSet/b-redis',
  'NetworkPolicy/b-redis',
  'Secret/b-db-root',
  'Service/b-db',
  'PersistentVolumeClaim/b-db-data',
  'StatefulSet/b-db',
  'NetworkPolicy/b-db',
  'NetworkPolicy/b-nginx',
  'NetworkPolicy/b-gunicorn',
  'NetworkPolicy/b-socketio',
  'NetworkPolicy/b-metrics',
  'NetworkPolicy/b-deny-ingress',
  'Job/b-init',
  'Service/b-gunicorn',
  'Deployment/b-gunicorn',
  'Service/b-socketio',
  'Deployment/b-socketio',
  'ConfigMap/b-nginx',
  'Service/b-nginx',
  'Deployment/b-nginx',
  'Deployment/b-scheduler',
  'Service/b-metrics',
  'Deployment/b-metrics',
  'Deployment/b-worker-default',
  'Deployment/b-worker-short',
  'Deployment/b-worker-long',
  'Secret/s-admin-password',
  'Secret/s-db',
  'Secret/s-encryption-key',
  'Job/s-init',
  'Service/s-gunicorn',
  'Deployment/s-gunicorn',
  'Deployment/s-worker-default',
  'Deployment/s-worker-short',
  'Deployment/s-worker-long',
].sort();
