import { admit } from '../../constructs/kit/schema/admit.js';
import type { Problem } from '../../constructs/kit/errors.js';
import type { ObjectReference } from '../../constructs/kit/kind.js';
import type { Resource } from '../../constructs/kit/object.js';
import type { Read } from './author-access.js';
import type { AdmissionChange } from './validate.js';

/** The most objects that are asked about one by one, for an author who may not get all of a kind. */
const MOST = 32;

/**
 * The objects that a change newly gives to pods, and that its author may not get: through a pod of any
 * image their content could be read. Whether they exist is not looked at.
 */
export async function unreadable(
  change: AdmissionChange,
  mayRead: (read: Read) => Promise<boolean>,
): Promise<Problem[]> {
  const added = addedBy(change);
  const { namespace = 'default' } = change.object.metadata;
  const kinds = [...new Set(added.map((reference) => reference.kind))];
  const hidden = await Promise.all(
    kinds.map(async (name) => {
      const ofKind = added.filter((reference) => reference.kind === name);
      const allowed = await mayRead({ verb: 'get', kind: name, namespace });
      return allowed ? [] : hiddenOf(ofKind, namespace, mayRead);
    }),
  );
  return hidden.flat();
}

/** Whether a change newly gives objects to pods. */
export function givesToPods(change: AdmissionChange): boolean {
  return addedBy(change).length > 0;
}

function addedBy(change: AdmissionChange): readonly ObjectReference[] {
  const { object, old } = change;
  const known = new Set(old ? referencesOf(change, old).map(keyOf) : []);
  return referencesOf(change, object, old).filter((reference) => !known.has(keyOf(reference)));
}

async function hiddenOf(
  references: readonly ObjectReference[],
  namespace: string,
  mayRead: (read: Read) => Promise<boolean>,
): Promise<Problem[]> {
  // All are of one kind.
  const kindOf = new Map(references.map(({ name, kind }) => [name, kind]));
  const names = [...kindOf];
  const allowed = new Set<string>();
  await Promise.all(
    names.slice(0, MOST).map(async ([name, kind]) => {
      if (await mayRead({ verb: 'get', kind, namespace, name })) allowed.add(name);
    }),
  );
  const more = names.length > MOST ? `; of more than ${MOST} names none is asked about` : '';
  return references
    .filter(({ name }) => !allowed.has(name))
    .map(({ kind, name, path }) => ({
      path,
      message: `Forbidden: "${name}": you may not get this ${kind}, so pods do not get its content; let an author who may get it set the field${more}`,
    }));
}

/** None of an object that its schema refuses: a stored one may be older than the schema. */
function referencesOf(
  { kind, group }: AdmissionChange,
  resource: Resource,
  old?: Resource,
): readonly ObjectReference[] {
  if (!kind.givenToPods) return [];
  const typed = old && { ...old, apiVersion: resource.apiVersion, kind: resource.kind };
  const { object, problems } = admit(kind.definition, resource, {
    group,
    ...(typed ? { old: typed } : {}),
  });
  return problems.length > 0 ? [] : kind.givenToPods.references(object);
}

function keyOf({ kind, name }: ObjectReference): string {
  return `${kind}/${name}`;
}
