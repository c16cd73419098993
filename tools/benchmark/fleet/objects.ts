import type { KubeObject } from '../../../constructs/kit/object.js';

const API = 'app-operator.io/v1alpha1';
/** The API path of a collection in all namespaces. */
export const SITES = `/apis/${API}/appsites`;
export const BENCHES = `/apis/${API}/appbenchs`;
const BENCHES_OF_TENANT = 5;

/** Sites are dealt to the benches in turn, so that a larger fleet has the objects of a smaller one. */
export interface FleetShape {
  readonly benches: number;
}

/** A resource of the fleet, and where it is applied. */
export interface FleetObject {
  readonly path: string;
  readonly object: KubeObject;
}

export function namespacesOf({ benches }: FleetShape): readonly string[] {
  const count = Math.ceil(benches / BENCHES_OF_TENANT);
  return Array.from({ length: count }, (_, index) => namespaceName(index));
}

function namespaceName(tenant: number): string {
  return `tenant-${String(tenant).padStart(2, '0')}`;
}

/** The namespace of a bench. */
export function namespaceOfBench(bench: number): string {
  return namespaceName(Math.floor(bench / BENCHES_OF_TENANT));
}

export function benchName(bench: number): string {
  return `bench-${String(bench).padStart(2, '0')}`;
}

export function fleetBench(bench: number): FleetObject {
  return resource('AppBench', namespaceOfBench(bench), benchName(bench), {
    frameworkVersion: 'version-15',
    appsJSON: '["erpnext"]',
  });
}

/** One site, with the names of what a measurement watches. */
export interface FleetSite {
  readonly bench: number;
  readonly namespace: string;
  readonly name: string;
}

export function siteAt(index: number, { benches }: FleetShape): FleetSite {
  const bench = index % benches;
  const name = `site-${String(index).padStart(5, '0')}`;
  return { bench, namespace: namespaceOfBench(bench), name };
}

export function fleetSite(index: number, shape: FleetShape): FleetObject {
  const { bench, namespace, name } = siteAt(index, shape);
  return resource('AppSite', namespace, name, {
    benchRef: { name: benchName(bench) },
    siteName: `${name}.example.com`,
    workloads: 'Dedicated',
  });
}

/** The indexes of the sites of a bench, in a fleet of so many sites. */
export function sitesOfBench(
  bench: number,
  sites: number,
  { benches }: FleetShape,
): readonly number[] {
  return Array.from({ length: sites }, (_, index) => index).filter(
    (index) => index % benches === bench,
  );
}

export function pathOf({ namespace, name }: FleetSite): string {
  return `/apis/${API}/namespaces/${namespace}/appsites/${name}`;
}

function resource(kind: string, namespace: string, name: string, spec: unknown): FleetObject {
  return {
    path: `/apis/${API}/namespaces/${namespace}/${kind.toLowerCase()}s/${name}`,
    object: { apiVersion: API, kind, metadata: { name, namespace }, spec } as KubeObject,
  };
}
