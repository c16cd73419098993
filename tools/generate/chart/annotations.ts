import { stringify } from 'yaml';
import { IMAGE_REPOSITORY, PROJECT, SOURCE_URL } from '../../../constructs/project.js';
import {
  API_VERSION,
  DEFAULT_API_GROUP,
  type KindDefinition,
} from '../../../constructs/kit/definition.js';
import type { KubeObject } from '../../../constructs/kit/object.js';
import type { Change } from './changelog.js';

/** What the chart's annotations are made of. */
export interface ChartFacts {
  readonly version: string;
  readonly definitions: readonly KindDefinition[];
  /** One of each kind. */
  readonly examples: readonly KubeObject[];
  /** Of this version. */
  readonly changes: readonly Change[];
}

/** The annotations that Artifact Hub reads, each as text. */
export function chartAnnotations(facts: ChartFacts): Readonly<Record<string, string>> {
  const { version, definitions, examples, changes } = facts;
  const crds = definitions.map(({ kind, plural, description }) => ({
    kind,
    version: API_VERSION,
    name: `${plural}.${DEFAULT_API_GROUP}`,
    displayName: kind,
    description,
  }));
  const images = [
    {
      name: PROJECT.name,
      image: `${IMAGE_REPOSITORY}:${version}`,
      platforms: ['linux/amd64', 'linux/arm64'],
    },
  ];
  const links = [
    { name: 'Documentation', url: `${SOURCE_URL}/blob/main/docs/README.md` },
    { name: 'Support', url: `${SOURCE_URL}/issues` },
  ];
  const lists = { changes, crds, crdsExamples: examples, images, links };
  return {
    'artifacthub.io/category': 'integration-delivery',
    ...Object.fromEntries(
      Object.entries(lists).map(([name, list]) => [`artifacthub.io/${name}`, block(list)]),
    ),
    'artifacthub.io/license': PROJECT.license,
    'artifacthub.io/operator': 'true',
    'artifacthub.io/operatorCapabilities': 'full lifecycle',
  };
}

function block(value: unknown): string {
  return stringify(value, { version: '1.1', lineWidth: 0 });
}
