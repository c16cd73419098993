import { Chart } from 'cdk8s';
import type { Construct } from 'constructs';
import * as k8s from '../../kit/k8s.js';
import { FrappeJob } from '../../frappe/job.js';
import { jobCommand } from '../../frappe/pod.js';
import { keyOfSecret } from '../../frappe/secret.js';
import { siteModelOf, type SiteModel } from '../../frappe/site-model.js';
import type { Batch, BatchProps } from '../../kit/batch.js';
import type { DocumentRequest } from '../../kit/document.js';
import { canonicalJson, hashOf } from '../../kit/json/hash.js';
import { childLabels } from '../../kit/labels.js';
import { siteNames } from '../../kit/names.js';
import { ConfigMap, Job } from '../../kit/object-kind.js';
import { Stage } from '../../kit/synth.js';
import type { AppSite } from '../../api/site.js';
import { requestsOfSite } from './indexes.js';
import { failureOf, resultsOf } from './result.js';

const DOCUMENTS_DIR = '/app-operator/documents';
const SECRETS_DIR = '/app-operator/secrets';
const FILE = 'documents.json';

/** What a ConfigMap holds, less its metadata, in UTF-8 bytes. */
const MAX_BYTES = 900_000;
/** What the API server takes of a ConfigMap's values. */
const CONFIG_MAP_BYTES = 1_048_576;

/** One that never ends holds up the others for this long, and each of them allows some more. */
const DEADLINE_SECONDS = { one: 600, more: 10 };

/** Reasons by which the script says that no document of the site can be written. */
const OF_THE_SITE = /^(DatabaseUnreachable|Site\w+|VolumeNotWritable|InvalidInput):/;

/** The documents of a site, of all kinds: one Job writes up to three hundred. */
export const documents: Batch<AppSite, DocumentRequest, SiteModel> = {
  name: 'documents',
  owner: 'AppSite',
  owns: [ConfigMap, Job],
  requests: requestsOfSite,
  progress: 'DocumentProgress',
  // Their results fit into the termination message of a pod.
  size: 300,
  take: (requests) => {
    let bytes = 0;
    return requests.filter((request, index) => {
      bytes += Buffer.byteLength(canonicalJson(contentOf(request)));
      return index === 0 || bytes <= MAX_BYTES;
    });
  },
  subject: ({ document: { doctype, name } }) => `${doctype}/${name}`,
  unfit: (request, time) => {
    const bytes = Buffer.byteLength(dataOf([request]));
    return bytes > CONFIG_MAP_BYTES
      ? failureOf(request, `it takes ${bytes} bytes; a Job can take ${CONFIG_MAP_BYTES}`, time)
      : undefined;
  },
  failed: (request, why, time) =>
    OF_THE_SITE.test(why)
      ? undefined
      : failureOf(request, `Job ${siteNames(request.site).documents}: ${why}`, time),
  closed: (why) => why.startsWith('SiteClosed: '),
  resolve: ({ metadata: { namespace = 'default', name } }, reader) =>
    siteModelOf({ metadata: { namespace }, spec: { siteRef: { name } } }, reader),
  chart: (scope, id, props) => new DocumentsChart(scope, id, props),
  results: resultsOf,
};

class DocumentsChart extends Chart {
  constructor(
    scope: Construct,
    id: string,
    { resource: site, inputs, requests }: BatchProps<AppSite, DocumentRequest, SiteModel>,
  ) {
    super(scope, id, { disableResourceNameHashes: true });
    const { bench, siteName } = inputs;
    const name = siteNames(site.metadata.name).documents;
    const batch = { [bench.metadataKeys.batch]: documents.name };
    new k8s.KubeConfigMap(new Stage(this, 'content'), 'documents', {
      metadata: {
        name,
        namespace: bench.namespace,
        labels: { ...childLabels(site, 'documents'), ...batch },
      },
      data: { [FILE]: dataOf(requests) },
    });
    new FrappeJob(new Stage(this, 'write'), 'job', {
      bench,
      owner: site,
      name,
      component: 'documents',
      labels: batch,
      taskHash: hashOf(requests.map(({ id }) => id)),
      deadlineSeconds: DEADLINE_SECONDS.one + DEADLINE_SECONDS.more * (requests.length - 1),
      container: {
        name: 'documents',
        command: jobCommand('site_documents.py'),
        env: [
          { name: 'SITE_NAME', value: siteName },
          { name: 'IMAGE', value: bench.image.reference },
          { name: 'DOCUMENTS', value: `${DOCUMENTS_DIR}/${FILE}` },
          { name: 'SECRETS', value: SECRETS_DIR },
        ],
        extraMounts: [
          { name: 'documents', mountPath: DOCUMENTS_DIR, readOnly: true },
          { name: 'secrets', mountPath: SECRETS_DIR, readOnly: true },
        ],
      },
      extraVolumes: [
        { name: 'documents', configMap: { name } },
        { name: 'secrets', projected: { sources: requests.flatMap(secretsOf) } },
      ],
    });
  }
}

function dataOf(requests: readonly DocumentRequest[]): string {
  return canonicalJson({ documents: requests.map(contentOf) });
}

/** What the script reads of a request: of its secrets only which there are. */
function contentOf({ id, document }: DocumentRequest): unknown {
  const fields = Object.entries(document.secrets).sort(([one], [other]) => (one < other ? -1 : 1));
  const secretKeys = Object.fromEntries(
    fields.map(([field, { key, secret }]) => [field, keyOfSecret(key, secret)]),
  );
  return {
    id,
    ...document,
    secrets: fields.map(([field]) => field),
    ...(fields.length > 0 ? { secretKeys } : {}),
  };
}

/** The secrets of a request as files. One that is missing fails its own document, not the pod. */
function secretsOf({ id, document }: DocumentRequest): k8s.VolumeProjection[] {
  return Object.entries(document.secrets).map(([field, { secret, key }]) => ({
    secret: { name: secret, optional: true, items: [{ key, path: `${id}/${field}` }] },
  }));
}
