import { READY, recordsOf, type Health, type Observable } from '../../kit/health.js';
import { defined } from '../../kit/json/defined.js';
import { isObject } from '../../kit/json/is-object.js';
import type { KubeObject, Resource } from '../../kit/object.js';
import { advisoryKind, optionalKind, type ObjectKind } from '../../kit/object-kind.js';

const API = 'gateway.networking.k8s.io/v1';

interface RouteObject extends Observable {
  readonly spec?: Observable['spec'] & { readonly parentRefs?: unknown };
  readonly status?: Observable['status'] & {
    /** What the controller of each Gateway reports. */
    readonly parents?: unknown;
  };
}

export const HttpRoute: ObjectKind = {
  ...advisoryKind(API, 'HTTPRoute', 'httproutes'),
  health: { evaluate: (object: RouteObject) => routeHealth(object) },
};

/** Of the Gateways of others, only their listeners are read. */
export const Gateway: ObjectKind = {
  ...optionalKind(API, 'Gateway', 'gateways'),
  content: listenersOfGateway,
};

/** A listener of a Gateway, as far as a route depends on it. */
export interface Listener {
  readonly name: string;
  readonly protocol: string;
  /** Undefined for all host names. */
  readonly hostname?: string;
}

export type GatewayLike = Resource<{ readonly listeners: readonly Listener[] }>;

function listenersOfGateway(object: KubeObject): KubeObject {
  const { spec } = object as Partial<Resource>;
  const listeners = recordsOf(isObject(spec) ? spec['listeners'] : undefined);
  const { name, namespace } = object.metadata;
  return {
    apiVersion: object.apiVersion,
    kind: object.kind,
    metadata: { name, ...defined({ namespace }) },
    spec: {
      listeners: listeners.map((listener) => ({
        name: String(listener['name']),
        protocol: String(listener['protocol']),
        ...(typeof listener['hostname'] === 'string' ? { hostname: listener['hostname'] } : {}),
      })),
    },
  } as GatewayLike;
}

/** Requests come in where one listener takes the route: another one may be for other namespaces. */
function routeHealth({ metadata, spec, status }: RouteObject): Health {
  const reports = recordsOf(status?.parents);
  const states = recordsOf(spec?.parentRefs).map((ref) =>
    stateAt(
      reports.find(({ parentRef }) => isSame(ref, parentRef)),
      metadata.generation ?? 0,
    ),
  );
  const found = states.find(({ state }) => state === 'Ready');
  return found ?? states.find(({ unobserved }) => !unobserved) ?? states[0] ?? UNOBSERVED;
}

const UNOBSERVED: Health = {
  state: 'InProgress',
  message: 'no controller has answered yet',
  unobserved: true,
};

/** Whether two references are of one listener: a controller repeats the reference of the route. */
function isSame(ref: Readonly<Record<string, unknown>>, other: unknown): boolean {
  if (!isObject(other)) return false;
  return ['namespace', 'name', 'sectionName'].every((field) => ref[field] === other[field]);
}

/** What a controller reports of a route at one listener. */
function stateAt(
  report: Readonly<Record<string, unknown>> | undefined,
  generation: number,
): Health {
  const conditions = recordsOf(report?.['conditions']);
  if (conditions.length === 0) return UNOBSERVED;
  for (const { type, reason } of REFUSALS) {
    const condition = conditions.find((one) => one['type'] === type);
    if (Number(condition?.['observedGeneration'] ?? generation) < generation) {
      return { state: 'InProgress', message: 'the latest change is not observed yet' };
    }
    if (condition?.['status'] === 'True') continue;
    const words = [condition?.['reason'], condition?.['message']].filter(
      (word) => typeof word === 'string' && word !== '',
    );
    return { state: 'InProgress', reason, message: words.join(': ') || `${type} is not reported` };
  }
  return READY;
}

/** The conditions that must be True, and the reason of ours where they are not. */
const REFUSALS = [
  { type: 'Accepted', reason: 'NotAccepted' },
  { type: 'ResolvedRefs', reason: 'RefsNotResolved' },
] as const;
