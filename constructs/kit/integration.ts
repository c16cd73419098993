import type { Construct } from 'constructs';
import type { ConditionResult } from './condition.js';
import type { DatabaseOperator } from './database-operator.js';
import type { ClusterReader } from './kind.js';
import type { Resource } from './object.js';
import { distinctKinds, type ObjectKind } from './object-kind.js';

/**
 * An optional API that the operator works with, such as KEDA's, as a value. Detection, RBAC,
 * watches and `render --serves` follow from its kinds; the hooks say what it adds to which tree.
 */
export interface Integration {
  /** The name in `render --serves`. */
  readonly name: string;
  /** The name of the product, for docs and messages. */
  readonly title: string;
  /** What kinds of ours use of its API, by the name of our kind. @default nothing */
  readonly uses?: Readonly<Record<string, UsedKinds>>;
  /**
   * Whether the spec of a resource asks for it by name: a preview then takes its API as served.
   * @default never
   */
  isNamedBy?(resource: Resource): boolean;
  /** What it adds to the Ingress of a site. */
  readonly ingress?: IngressExtension;
  /** Routes to a site in place of an Ingress. */
  readonly route?: RouteProvider;
  /** Databases of sites in mode `operator`. */
  readonly database?: DatabaseOperator;
}

/** What a kind of ours uses of an API; see the fields of the same names of `Kind`. */
export interface UsedKinds {
  /** Kinds of its children. */
  readonly owns?: readonly ObjectKind[];
  /** Kinds whose objects it reads. */
  readonly reads?: readonly ObjectKind[];
  /** Kinds of which it only needs to know whether they are served. */
  readonly detects?: readonly ObjectKind[];
}

/** The Ingress of a site, for what integrations add to it. */
export interface IngressProps {
  readonly name: string;
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
  /** undefined for the cluster's default class. */
  readonly className: string | undefined;
  /** The public host names. */
  readonly hosts: readonly string[];
  /** undefined where the site has no TLS. */
  readonly tls: IngressTls | undefined;
}

export interface IngressTls {
  readonly secretName: string;
  readonly secretExists: boolean;
  /** Who issues the certificate; undefined where the user provides the Secret. */
  readonly issuer: { readonly kind: string; readonly name: string } | undefined;
  /** The name of the object that requests the certificate. */
  readonly certificate: string;
}

/** Objects and annotations of an Ingress, where the cluster serves an API. */
export interface IngressExtension {
  /** The API that must be served. */
  readonly kind: ObjectKind;
  /**
   * Adds the objects that the Ingress refers to.
   * @returns the annotations that refer to them
   */
  before?(scope: Construct, ingress: IngressProps): Readonly<Record<string, string>>;
  /** Adds the objects that belong to the Ingress. */
  after?(scope: Construct, ingress: IngressProps): void;
}

/** What decides whether a site has a route in place of an Ingress. */
export interface RouteRequest {
  /** The ingress class of the site, else of its bench. */
  readonly className: string | undefined;
  /** Whether the site has TLS. */
  readonly tls: boolean;
  /** Whether the certificate is in a Secret: an existing one, or one that an issuer writes. */
  readonly certificateInSecret: boolean;
}

export interface RouteProps {
  readonly name: string;
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>> | undefined;
  readonly hosts: readonly string[];
  /** Whether the router serves HTTPS, with its own certificate. */
  readonly encrypted: boolean;
  readonly backend: { readonly service: string; readonly port: number };
}

/** Routes to a site in place of an Ingress. */
export interface RouteProvider {
  /** Whether the site gets routes of this provider. */
  takes(request: RouteRequest, reader: Pick<ClusterReader, 'serves'>): boolean;
  /** Adds the routes, one for each host name. */
  chart(scope: Construct, props: RouteProps): void;
  /** The condition `CertificateReady` of a site with an encrypted route. */
  readonly certificate: ConditionResult;
}

/** All that a kind of ours uses of some integrations. */
export function usedKinds(kind: string, integrations: readonly Integration[]): Required<UsedKinds> {
  const used = integrations.flatMap(({ uses }) => uses?.[kind] ?? []);
  return {
    owns: distinctKinds(used.flatMap(({ owns = [] }) => owns)),
    reads: distinctKinds(used.flatMap(({ reads = [] }) => reads)),
    detects: distinctKinds(used.flatMap(({ detects = [] }) => detects)),
  };
}

/** The kinds of an integration that resources depend on. */
export function kindsOf({ uses = {} }: Integration): readonly ObjectKind[] {
  return distinctKinds(
    Object.values(uses).flatMap(({ owns = [], reads = [], detects = [] }) => [
      ...owns,
      ...reads,
      ...detects,
    ]),
  );
}
