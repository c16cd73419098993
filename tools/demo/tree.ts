import type { ControlPlane } from '../controlplane/controlplane.js';

interface Live {
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly ownerReferences?: readonly { readonly uid: string }[];
  };
  readonly status?: { readonly phase?: string };
}

const KINDS =
  'appbenchs,appsites,configmaps,secrets,services,persistentvolumeclaims,statefulsets,deployments,jobs,' +
  'networkpolicies,poddisruptionbudgets,ingresses';
const OWNER = 'app-operator.io/owner';

/** The benches and sites of a namespace with all that was made for them, as lines of text. */
export async function treeOf(cp: ControlPlane, namespace: string): Promise<string> {
  const { items } = JSON.parse(
    await cp.kubectl(['get', KINDS, '--namespace', namespace, '--output', 'json']),
  ) as { readonly items: readonly Live[] };
  const roots = items.filter(({ kind }) => kind === 'AppBench' || kind === 'AppSite');
  return roots
    .map((root) => {
      const children = items
        .filter(({ metadata }) => metadata.labels?.[OWNER] === `${root.kind}.${root.metadata.name}`)
        .map(
          ({ kind, metadata }) =>
            `${kind} ${metadata.name}${isOwned(metadata) ? '' : '  (kept when it is deleted)'}`,
        );
      const lines = children.map(
        (child, index) => `${index === children.length - 1 ? '└─' : '├─'} ${child}`,
      );
      return [`${root.kind} ${root.metadata.name}`, ...lines].join('\n');
    })
    .join('\n\n');
}

function isOwned({ ownerReferences }: Live['metadata']): boolean {
  return (ownerReferences?.length ?? 0) > 0;
}
