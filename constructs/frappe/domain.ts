/** The most characters that a host name may have. */
export const LONGEST_HOST = 253;

/** The public host name of a site: its own domain, or its name below the bench's suffix. */
export function publicDomain(
  spec: { readonly siteName: string; readonly domain?: string },
  suffix: string | undefined,
): string {
  if (spec.domain) return spec.domain;
  const { siteName } = spec;
  return suffix === undefined || siteName === suffix || siteName.endsWith(`.${suffix}`)
    ? siteName
    : `${siteName}.${suffix}`;
}

/** All public host names of a site, its own domain first. */
export function publicHosts(
  spec: {
    readonly siteName: string;
    readonly domain?: string;
    readonly aliases?: readonly string[];
  },
  suffix: string | undefined,
): readonly string[] {
  return [...new Set([publicDomain(spec, suffix), ...(spec.aliases ?? [])])];
}
