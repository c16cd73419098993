import { DEFINITIONS } from '../../constructs/registry.js';

/** The kind with a name: any name of kubectl, or the name without its prefix: `bench`, `site`, `user`. */
export function kindOf(name: string, definitions = DEFINITIONS): string | undefined {
  const lower = name.toLowerCase();
  return definitions.find(({ singular, plural, shortNames }) => {
    const short = shortNameOf(singular);
    return [singular, plural, ...shortNames, short, shortNameOf(plural), `${short}es`].includes(
      lower,
    );
  })?.kind;
}

/** `bench` for `appbench`, `user` for `siteuser`. */
export function shortNameOf(name: string): string {
  return name.replace(/^(app|site)/, '');
}
