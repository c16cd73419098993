import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { parse } from 'yaml';
import type { AdminClient, KubernetesObject } from './controlplane/admin-client.js';
import { projectRoot } from './project-root.js';

interface CustomResourceDefinition extends KubernetesObject {
  readonly status?: {
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
}

const PATH = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

/** Installs the operator's CRDs from `dist/crds`, and waits until they are served. */
export async function applyCrds(api: AdminClient): Promise<void> {
  const folder = path.join(projectRoot(), 'dist/crds');
  const files = (await readdir(folder)).filter((file) => file.endsWith('.yaml'));
  await Promise.all(
    files.map(async (file) => {
      const crd = parse(
        await readFile(path.join(folder, file), 'utf8'),
      ) as CustomResourceDefinition;
      await api.apply(PATH, crd);
      await api.until(`${crd.metadata.name} to be served`, async () => {
        const { status } = (await api.request(
          'GET',
          `${PATH}/${crd.metadata.name}`,
        )) as CustomResourceDefinition;
        return (
          status?.conditions?.some((c) => c.type === 'Established' && c.status === 'True') ?? false
        );
      });
    }),
  );
}
