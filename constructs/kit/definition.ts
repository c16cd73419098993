import type { ObjectKind } from './object-kind.js';

/** The API group of the eight kinds. Everything that needs another one takes it as a parameter. */
export const DEFAULT_API_GROUP = 'app-operator.io';

/** The one version that is served. */
export const API_VERSION = 'v1alpha1';

/** A column of `kubectl get`. */
export interface PrinterColumn {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'boolean' | 'date';
  readonly jsonPath: string;
  readonly description: string;
  /** Columns of priority 1 show with `-o wide` only. */
  readonly priority?: 0 | 1;
}

/** A structural schema node, as in a CRD's `openAPIV3Schema`. */
export interface Schema {
  readonly type?: 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean';
  readonly format?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minProperties?: number;
  readonly maxProperties?: number;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly nullable?: boolean;
  readonly 'x-kubernetes-list-type'?: 'map' | 'set' | 'atomic';
  readonly 'x-kubernetes-list-map-keys'?: readonly string[];
  readonly 'x-kubernetes-preserve-unknown-fields'?: true;
  readonly 'x-kubernetes-int-or-string'?: true;
  readonly 'x-kubernetes-validations'?: readonly ValidationRule[];
}

/** A CEL rule on a schema node. */
export interface ValidationRule {
  readonly rule: string;
  readonly message: string;
  /** CEL that gives the message, with the values; `message` where it fails. */
  readonly messageExpression?: string;
  readonly optionalOldSelf?: true;
}

/** Everything in the CRD of a kind except its group. */
export interface KindDefinition {
  readonly kind: string;
  readonly plural: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly description: string;
  readonly printerColumns: readonly PrinterColumn[];
  /** The longest name, in characters: the kind's children add suffixes and must stay within 63. */
  readonly maxNameLength: number;
  /** The `scale` subresource, where a number of replicas makes sense. */
  readonly scale?: {
    readonly specReplicasPath: string;
    readonly statusReplicasPath: string;
    readonly labelSelectorPath?: string;
  };
  /** Structural schema of `spec`, generated from the kind's `api.ts`. */
  readonly spec: Schema;
  /** Structural schema of `status`, generated from the kind's `api.ts`. */
  readonly status: Schema;
}

/** `kubectl scale` and a HorizontalPodAutoscaler set the number of web processes. */
export const GUNICORN_SCALE = {
  specReplicasPath: '.spec.componentReplicas.gunicorn',
  statusReplicasPath: '.status.replicas',
  labelSelectorPath: '.status.selector',
} as const;

/** The kind as an object of the API, in a group. */
export function objectKind(definition: KindDefinition, group = DEFAULT_API_GROUP): ObjectKind {
  return {
    apiVersion: `${group}/${API_VERSION}`,
    kind: definition.kind,
    plural: definition.plural,
  };
}

/** The column of the condition Ready, which every kind has. */
export function readyColumn(description: string): PrinterColumn {
  return {
    name: 'Ready',
    type: 'string',
    jsonPath: '.status.conditions[?(@.type=="Ready")].status',
    description,
  };
}

/** The column of the phase. */
export function phaseColumn(description: string): PrinterColumn {
  return { name: 'Phase', type: 'string', jsonPath: '.status.phase', description };
}

/** The column of the site that `siteRef` names. */
export const SITE_COLUMN: PrinterColumn = {
  name: 'Site',
  type: 'string',
  jsonPath: '.spec.siteRef.name',
  description: 'The site.',
};

/** The last columns of every kind: what the object waits for, and its age. */
export const COMMON_COLUMNS: readonly PrinterColumn[] = [
  {
    name: 'Message',
    type: 'string',
    jsonPath: '.status.conditions[?(@.type=="Ready")].message',
    description: 'What the object waits for, or what is wrong.',
    priority: 1,
  },
  {
    name: 'Age',
    type: 'date',
    jsonPath: '.metadata.creationTimestamp',
    description: 'Time since the object was created.',
  },
];
