import type { Chart } from 'cdk8s';
import type { Construct } from 'constructs';
import { canonicalJson, hashOfText } from '../../constructs/kit/json/hash.js';
import type { MetadataKeys } from '../../constructs/kit/metadata-keys.js';
import type { Kind } from '../../constructs/kit/kind.js';
import type { KubeObject, Resource } from '../../constructs/kit/object.js';
import { kindId, type ObjectKind } from '../../constructs/kit/object-kind.js';
import { synthesize } from '../../constructs/kit/synth.js';
import { childId, isCreateOnly, createOnlyHash } from '../cache/child.js';

/** One planned child. */
export interface PlannedChild {
  readonly id: string;
  readonly kind: ObjectKind;
  readonly name: string;
  /** Hash of the object; it changes when the child has to be applied again. */
  readonly hash: string;
  /** For a create-only object, a generated Secret or a Job: hash of our metadata. */
  readonly createOnly: string | undefined;
  /** For a Job: its task. */
  readonly taskHash: string | undefined;
  /** Whether neither later stages nor readiness wait for it. @default false */
  readonly advisory?: boolean;
}

export interface PlannedStage {
  readonly waitForReady: boolean;
  readonly blockedReason: string | undefined;
  /** Whether later stages do not wait for this one. @default false */
  readonly advisory?: boolean;
  /** Whether it is applied although a Job of an earlier stage has failed. @default false */
  readonly afterFailure?: boolean;
  readonly children: readonly PlannedChild[];
}

/** The child that records the Jobs that succeeded. */
export interface RecordHolder {
  /** See `PlannedChild.id`. */
  readonly id: string;
  readonly kind: ObjectKind;
  readonly namespace: string;
  readonly name: string;
}

/** The desired children of a resource. */
export interface Plan {
  /** Undefined where nothing is recorded: a deleted Job is created again. */
  readonly holder?: RecordHolder | undefined;
  /**
   * uid of the resource. It is read from the API server before a Job is created or replaced.
   * @default nothing is read, and a deleted Job is created again
   */
  readonly owner?: string | undefined;
  readonly stages: readonly PlannedStage[];
  /** The field of the spec that names a user's object in place of a child. */
  fieldOf?(planned: PlannedChild): string | undefined;
  /** An object by `PlannedChild.id`, to apply it. Of known stages, the tree is synthesized again. */
  object(id: string): KubeObject | undefined;
}

/** All children of a plan, in its order. */
export function plannedOf(plan: Plan): readonly PlannedChild[] {
  return plan.stages.flatMap((stage) => stage.children);
}

export interface PlanProps {
  /** The kinds of children, by `<apiVersion>/<kind>`. */
  readonly kinds: ReadonlyMap<string, ObjectKind>;
  readonly metadataKeys: MetadataKeys;
  /** The kind of the resource. */
  readonly kind?: Pick<Kind, 'fieldOf'> | undefined;
  /** Called with the number of objects of each synthesized tree. */
  readonly onSynthesized?: ((objects: number) => void) | undefined;
}

/**
 * Synthesizes the tree of a resource and adds owner references. Retained objects get none, since they
 * outlive the resource: they are found by their labels.
 * @param known stages of the same tree, which is then synthesized only if one of its objects is asked for
 */
export function planOf(
  resource: Resource,
  props: PlanProps,
  build: (scope: Construct, id: string) => Chart | undefined,
  known?: readonly PlannedStage[],
): Plan {
  const { kinds, metadataKeys, onSynthesized } = props;
  const make = () => {
    const stages = synthesize(build).map((stage) => ({
      ...stage,
      objects: stage.objects.map((object) => ownedBy(resource, object, metadataKeys)),
    }));
    onSynthesized?.(stages.reduce((sum, { objects }) => sum + objects.length, 0));
    return stages;
  };
  // Later stages are applied seconds later: a text is a tenth of the garbage that an object is.
  let texts: ReadonlyMap<string, string> | undefined;
  const plan = (): readonly PlannedStage[] => {
    const first = make();
    const made = (texts = textsOf(first, kinds));
    return first.map(({ waitForReady, blockedReason, advisory, afterFailure, objects }) => ({
      waitForReady,
      blockedReason,
      advisory,
      afterFailure,
      children: objects.map((object) => {
        const hash = hashOfText(made.get(idOf(object, kinds)) ?? '');
        return { ...plannedChild(object, hash, props), advisory };
      }),
    }));
  };
  return {
    stages: known ?? plan(),
    fieldOf: ({ kind, name }) => props.kind?.fieldOf?.(resource, { kind: kind.kind, name }),
    object: (id) => {
      texts ??= textsOf(make(), kinds);
      const text = texts.get(id);
      return text === undefined ? undefined : (JSON.parse(text) as KubeObject);
    },
  };
}

interface Objects {
  readonly objects: readonly KubeObject[];
}

function textsOf(
  stages: readonly Objects[],
  kinds: ReadonlyMap<string, ObjectKind>,
): ReadonlyMap<string, string> {
  const objects = stages.flatMap((stage) => stage.objects);
  return new Map(objects.map((object) => [idOf(object, kinds), canonicalJson(object)]));
}

function plannedChild(
  object: KubeObject,
  hash: string,
  { kinds, metadataKeys }: PlanProps,
): PlannedChild {
  const annotations = object.metadata.annotations ?? {};
  return {
    id: idOf(object, kinds),
    kind: kindOf(object, kinds),
    name: object.metadata.name,
    hash,
    createOnly: isCreateOnly(object.kind, annotations, metadataKeys)
      ? createOnlyHash(object, metadataKeys)
      : undefined,
    taskHash: annotations[metadataKeys.run],
  };
}

function idOf(object: KubeObject, kinds: ReadonlyMap<string, ObjectKind>): string {
  return childId(kindOf(object, kinds), object.metadata.namespace ?? '', object.metadata.name);
}

function kindOf(object: KubeObject, kinds: ReadonlyMap<string, ObjectKind>): ObjectKind {
  const kind = kinds.get(kindId(object));
  if (!kind) throw new Error(`${kindId(object)}: in the tree, but not in \`owns\` of its kind`);
  return kind;
}

function ownedBy(resource: Resource, object: KubeObject, metadataKeys: MetadataKeys): KubeObject {
  const { metadata } = object;
  const { namespace = 'default', name, uid = '' } = resource.metadata;
  const retained = metadata.labels?.[metadataKeys.retain] === 'true';
  return {
    ...object,
    metadata: {
      ...metadata,
      namespace: metadata.namespace ?? namespace,
      ...(retained
        ? {}
        : {
            ownerReferences: [
              {
                apiVersion: resource.apiVersion,
                kind: resource.kind,
                name,
                uid,
                // No blockOwnerDeletion: a foreground deletion would delete children that are still needed.
                controller: true,
              },
            ],
          }),
    },
  };
}
