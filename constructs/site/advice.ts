import type { Problem } from '../kit/errors.js';
import type { AppSite } from './api.js';

/** What is legal in a site's spec, but seldom meant. */
export function adviseSite({ spec }: AppSite): readonly Problem[] {
  const advice: Problem[] = [];
  if (spec.deletionPolicy === 'Delete') {
    const what =
      spec.dbConfig.mode === 'external' ? "the site's files" : "the site's database and files";
    const message = `Delete removes ${what} with the object; its backups stay where they are stored`;
    advice.push({ path: 'spec.deletionPolicy', message });
  }
  return advice;
}
