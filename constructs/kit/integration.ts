import type { Construct } from 'constructs';
import type { ConditionResult } from './condition.js';
import type { DatabaseOperator } from './database-operator.js';
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
  /** Its part in the access to sites from outside of the cluster. */
  readonly access?: AccessHook;
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

/** The part of an integration in the access to sites, where the cluster serves its API. */
export interface AccessHook {
  /** The API that must be served. */
  readonly kind: ObjectKind;
  /**
   * Whether its objects serve a site in place of an Ingress. They are not added beside one.
   * @default its objects are added beside an Ingress
   */
  replacesIngress?(request: AccessRequest): boolean;
  /** The condition `CertificateReady` where they do, by HTTPS. */
  readonly certificate?: ConditionResult;
  /**
   * Adds its objects to `scope`. An object that an annotation of the Ingress names goes to
   * `access.named`.
   * @returns such annotations
   */
  add(scope: Construct, access: AccessProps): Readonly<Record<string, string>>;
}

/** What decides whether a site needs no Ingress. */
export interface AccessRequest {
  /** The ingress class of the site, else of its bench. */
  readonly className: string | undefined;
  /** Whether the certificate is in a Secret: an existing one, or one that an issuer writes. */
  readonly certificateInSecret: boolean;
  /** Whether the site, or its bench, names a Gateway. */
  readonly namesGateway: boolean;
}

/** The access to a site from outside of the cluster. */
export interface AccessProps {
  /** Of the Ingress, or of what takes its place. */
  readonly name: string;
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
  /** The annotations of the spec. */
  readonly annotations: Readonly<Record<string, string>> | undefined;
  /** undefined for the cluster's default class. */
  readonly className: string | undefined;
  /** The public host names. */
  readonly hosts: readonly string[];
  /** Whether visitors use HTTPS. */
  readonly encrypted: boolean;
  /** The certificate in a Secret; undefined without HTTPS, and where no Ingress reads it. */
  readonly tls: AccessTls | undefined;
  /** The Gateway that the site's routes are attached to; undefined without one. */
  readonly gateway: AccessGateway | undefined;
  /** The bench's proxy. */
  readonly backend: { readonly service: string; readonly port: number };
  /** The objects that the Ingress names come before it. */
  readonly named: Construct;
}

/** A Gateway of the Gateway API, and the routes of a site there. */
export interface AccessGateway {
  readonly namespace: string;
  readonly name: string;
  /** Whether the cluster serves the API of its routes. */
  readonly isServed: boolean;
  /** Whether the operator can read it. */
  readonly isFound: boolean;
  /** Whether visitors use HTTPS. */
  readonly encrypted: boolean;
  /** The hosts that none of its HTTPS listeners takes; none where it cannot be read. */
  readonly withoutHttps: readonly string[];
  readonly routes: readonly AccessRoute[];
}

/** The route of one host. */
export interface AccessRoute {
  readonly host: string;
  readonly name: string;
  /** The listeners that serve it; every one that takes it where none is given. */
  readonly sections: readonly string[];
  /** The listeners that redirect it to HTTPS. */
  readonly redirects: readonly string[];
}

export interface AccessTls {
  readonly secretName: string;
  readonly secretExists: boolean;
  /** Whether the ingress controller has a certificate of its own: none is in the Secret. */
  readonly isControllers: boolean;
  /** Who issues the certificate; undefined where the user provides the Secret. */
  readonly issuer: { readonly kind: string; readonly name: string } | undefined;
  /** The name of the object that requests the certificate. */
  readonly certificate: string;
}

/** Whether requests that are redirected to HTTPS find a certificate. */
export function hasCertificate({ secretExists, isControllers }: AccessTls): boolean {
  return secretExists || isControllers;
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
