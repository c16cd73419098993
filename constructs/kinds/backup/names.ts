/** The names of a SiteBackup's objects: a CronJob's may have 52 characters. */
export function backupNames(backup: string) {
  return {
    backup: `${backup}-backup`,
    delete: `${backup}-backup-delete`,
  } as const;
}
