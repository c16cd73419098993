/** The names of a SiteJob's objects: a CronJob's may have 52 characters. */
export function siteJobNames(job: string) {
  return { run: `${job}-run` } as const;
}
