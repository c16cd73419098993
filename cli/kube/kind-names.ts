import { DEFINITIONS } from '../../constructs/registry.js';

/** A kind by any of its names; `bench`, `site`, `user` … are enough. */
export function kindOf(word: string): string | undefined {
  const lower = word.toLowerCase();
  return DEFINITIONS.find(({ singular, plural, shortNames }) => {
    const short = shortOf(singular);
    return [singular, plural, ...shortNames, short, shortOf(plural), `${short}es`].includes(lower);
  })?.kind;
}

/** `bench` for `appbench`, `user` for `siteuser`. */
export function shortOf(name: string): string {
  return name.replace(/^(app|site)/, '');
}
