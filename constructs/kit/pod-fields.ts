/**
 * The fields of a spec by which its author decides about pods. The admission policies of an installation are
 * made of them: the API server checks a change of one as if the author created such a pod.
 *
 * Paths begin below `spec`. `[]` stands for each item of a list, `{}` for each value of a map, such as
 * `siteConfig[].valueFrom.secretKeyRef.name`.
 */
export interface PodFields {
  /** Fields that shape pods. */
  readonly shapes?: readonly ShapingField[];
  /** Fields that name objects of the namespace whose content pods get. */
  readonly names?: readonly NamingField[];
  /** Fields that name a service account of pods. */
  readonly serviceAccounts?: readonly string[];
  /** The images of pods, those by default included. */
  readonly images?: readonly ImageField[];
  /** Fields of pod templates with further images: of a map, with lists of containers. @default none */
  readonly templateImages?: readonly string[];
  /** The field with the annotations of an Ingress, and the one that creates it. */
  readonly ingressAnnotations?: { readonly path: string; readonly enabled: string };
  /** The fields that Pod Security has a say in. */
  readonly podSecurity?: PodSecurityFields;
}

export interface PodSecurityFields {
  /** The security settings of the operator's own containers. @default none */
  readonly context?: string;
  /** Lists of further containers, in a map of pod templates. */
  readonly containers: readonly string[];
  /** Annotations of pods, also in a map of pod templates. */
  readonly annotations: readonly string[];
}

export interface ShapingField {
  readonly path: string;
  /** CEL: whether a value shapes pods. @default each value does */
  readonly when?: (value: string) => string;
}

export interface NamingField {
  readonly path: string;
  readonly kind: 'Secret' | 'ConfigMap' | 'PersistentVolumeClaim';
  /** Fields that decide who gets the content, such as the host that a password is sent to. @default none */
  readonly sentBy?: readonly string[];
}

export interface ImageField {
  readonly path: string;
  /** CEL: the list of the references of images that a spec gives. */
  readonly references: (spec: string) => string;
}
