import { ApiObject } from 'cdk8s';
import type { Construct } from 'constructs';
import type { AccessProps, Integration } from '../../constructs/kit/integration.js';
import { advisoryKind, type ObjectKind } from '../../constructs/kit/object-kind.js';

/** A record of an invented DNS operator. */
export const DnsRecord: ObjectKind = {
  ...advisoryKind('dns.invented.example/v1', 'DnsRecord', 'dnsrecords'),
  health: {
    reportsReady: true,
    evaluate: (object, byReady) =>
      object.status?.phase === 'Rejected'
        ? { state: 'Failed', message: 'its zone does not exist' }
        : byReady,
  },
};

/** Publishes the host names of sites in an invented DNS. */
export const inventedDns: Integration = {
  name: 'invented-dns',
  title: 'the invented DNS operator',
  uses: { AppSite: { owns: [DnsRecord] } },
  access: { kind: DnsRecord, add: addRecord },
};

function addRecord(
  scope: Construct,
  { name, namespace, labels, hosts }: AccessProps,
): Readonly<Record<string, string>> {
  new ApiObject(scope, 'dns', {
    apiVersion: DnsRecord.apiVersion,
    kind: DnsRecord.kind,
    metadata: { name, namespace, labels: { ...labels } },
    spec: { hosts: [...hosts] },
  });
  return {};
}
