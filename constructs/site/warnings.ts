import type { Problem } from '../kit/errors.js';
import type { AppSite } from './api.js';

/** What is legal in a site's spec, but seldom meant. */
export function siteWarnings({ spec }: AppSite): readonly Problem[] {
  const warnings: Problem[] = [];
  if (spec.deletionPolicy === 'Delete') {
    const what =
      spec.dbConfig.mode === 'external' ? "the site's files" : "the site's database and files";
    const message = `Delete removes ${what} with the object; its backups stay where they are stored`;
    warnings.push({ path: 'spec.deletionPolicy', message });
  }
  return warnings;
}
