import assert from 'node:assert/strict';
import { App } from 'cdk8s';

import { InstallChart, type InstallProps } from '../../constructs/install/chart.js';
import type { ResourceRule } from '../../constructs/install/permissions.js';
import type { KubeObject } from '../../constructs/kit/object.js';

/** A manifest of the chart; tests look into all kinds of it. */
export interface Installed extends KubeObject {
  readonly rules?: readonly (ResourceRule & { readonly nonResourceURLs?: readonly string[] })[];
  readonly subjects?: readonly object[];
  readonly roleRef?: { readonly kind: string; readonly name: string };
  readonly spec?: Readonly<Record<string, unknown>>;
}

/** The install manifest, with what is given. */
export function install(props: Partial<InstallProps> = {}): Installed[] {
  return new InstallChart(new App(), 'install', {
    image: 'op:1',
    ...props,
  }).toJson() as Installed[];
}

/** An object that has to be in the manifest. */
export function the(objects: readonly Installed[], kind: string, name: string): Installed {
  const found = objects.find((object) => object.kind === kind && object.metadata.name === name);
  assert.ok(found, `${kind}/${name} is not in the manifest`);
  return found;
}
