import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { parseAllDocuments } from 'yaml';

import { PostgresCluster } from '../../../constructs/integrations/cloudnative-pg/kinds.js';
import {
  ExternalMariaDb,
  MariaDb,
} from '../../../constructs/integrations/mariadb-operator/kinds.js';
import type { ObjectKind } from '../../../constructs/kit/object-kind.js';
import { groupOf } from '../../../constructs/kit/object.js';
import { projectRoot } from '../../../testbed/project-root.js';
import type { Manifest } from './objects.js';

/** The CRDs of what we make through a database operator: the part of its API that we use. */
async function subsetOf(integration: string): Promise<readonly Manifest[]> {
  const file = path.join(projectRoot(), 'constructs/integrations', integration, 'crds.yaml');
  const documents = parseAllDocuments(await readFile(file, 'utf8'));
  return documents.map((document) => document.toJS() as Manifest);
}

/** The CRD of a server, which the operator only reads: it accepts every spec. */
function serverCrd(kind: ObjectKind): Manifest {
  const group = groupOf(kind.apiVersion);
  const anything = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${kind.plural}.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { kind: kind.kind, plural: kind.plural },
      versions: [
        {
          name: kind.apiVersion.slice(group.length + 1),
          served: true,
          storage: true,
          subresources: { status: {} },
          schema: {
            openAPIV3Schema: {
              type: 'object',
              properties: { spec: anything, status: anything },
            },
          },
        },
      ],
    },
  };
}

export async function mariaDbCrds(): Promise<readonly Manifest[]> {
  return [...(await subsetOf('mariadb-operator')), serverCrd(MariaDb), serverCrd(ExternalMariaDb)];
}

export async function postgresCrds(): Promise<readonly Manifest[]> {
  return [...(await subsetOf('cloudnative-pg')), serverCrd(PostgresCluster)];
}

/** A status as the MariaDB operator writes it. */
export function mariaDbStatus(status: 'True' | 'False', reason: string, message: string): object {
  const lastTransitionTime = '2026-01-01T00:00:00Z';
  return { conditions: [{ type: 'Ready', status, reason, message, lastTransitionTime }] };
}
