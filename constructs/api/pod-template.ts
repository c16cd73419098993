/**
 * API types of the pod templates of components. A template is a pod template of Kubernetes. Its schema is
 * in the operator, see ADR 21; the CRDs have the keys by which server-side apply merges lists.
 */

/** A pod template of Kubernetes, `metadata` and `spec`, which is merged into the pods of a component as a strategic merge patch. What would break the pods is refused by name.
 * @preserveUnknownFields */
export interface ComponentPodTemplate {
  /** The pods. `metadata`, beside it, has further `labels` and `annotations`.
   * @preserveUnknownFields */
  readonly spec?: TemplatePod;
}

/** What the pods have besides what the operator gives them. */
export interface TemplatePod {
  /** Containers by name. An operator's own container takes environment variables and mounts; any other name adds a container.
   * @maxItems 8
   * @listType map
   * @listMapKey name */
  readonly containers?: readonly TemplateContainer[];
  /** Further init containers by name, which run after those of the operator.
   * @maxItems 8
   * @listType map
   * @listMapKey name */
  readonly initContainers?: readonly NamedItem[];
  /** Further volumes by name.
   * @maxItems 32
   * @listType map
   * @listMapKey name */
  readonly volumes?: readonly NamedItem[];
}

/** A container.
 * @preserveUnknownFields */
export interface TemplateContainer {
  /** Its name.
   * @minLength 1
   * @maxLength 63
   * @pattern ^[a-z0-9]([-a-z0-9]*[a-z0-9])?$ */
  readonly name: string;
  /** Environment variables by name.
   * @maxItems 64
   * @listType map
   * @listMapKey name */
  readonly env?: readonly TemplateVariable[];
  /** Mounts of volumes by path.
   * @maxItems 32
   * @listType map
   * @listMapKey mountPath */
  readonly volumeMounts?: readonly TemplateMount[];
}

/** An object with a name.
 * @preserveUnknownFields */
export interface NamedItem {
  /** Its name.
   * @minLength 1
   * @maxLength 63
   * @pattern ^[a-z0-9]([-a-z0-9]*[a-z0-9])?$ */
  readonly name: string;
}

/** An environment variable.
 * @preserveUnknownFields */
export interface TemplateVariable {
  /** Its name.
   * @minLength 1
   * @maxLength 253
   * @pattern ^[A-Za-z_][A-Za-z0-9_.-]*$ */
  readonly name: string;
}

/** A mount of a volume.
 * @preserveUnknownFields */
export interface TemplateMount {
  /** Where the volume is mounted.
   * @minLength 1
   * @maxLength 512
   * @pattern ^/[A-Za-z0-9._/@+-]*$ */
  readonly mountPath: string;
}
