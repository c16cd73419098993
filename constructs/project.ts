/**
 * Where a release is published, in one place: everything else derives its references from it.
 * Nothing is published yet.
 */
export const PROJECT = {
  name: 'app-operator',
  /** Owner of the repository and of the packages. */
  owner: 'app-operator',
  /** Where the source is hosted. */
  host: 'github.com',
  /** Registry of the images and of the chart. */
  registry: 'ghcr.io',
  description: 'Kubernetes operator for benches and sites of the Frappe Framework',
  license: 'Apache-2.0',
  /** Placeholder until there is a first release: catalogs ask for an address. */
  email: 'maintainers@example.com',
} as const;

const { name, owner, host, registry } = PROJECT;

/** The repository of the source. */
export const SOURCE_URL = `https://${host}/${owner}/${name}`;

/** The operator's image, without a tag: the tag is the release. */
export const IMAGE_REPOSITORY = `${registry}/${owner}/${name}`;

/** The repository of the chart: `helm install app-operator oci://…/charts/app-operator`. */
export const CHART_REPOSITORY = `${registry}/${owner}/charts`;
