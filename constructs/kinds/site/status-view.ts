import type { StatusColumn, StatusNode, StatusView } from '../../kit/status-view.js';
import type { AppSite } from '../../api/site.js';

export const siteStatusView: StatusView<AppSite> = {
  details: ({ status = {} }, children) => ({
    image: status.image,
    siteURL: status.siteURL,
    lastBackup: lastBackupOf(children),
  }),
  columns({ siteURL, lastBackup }) {
    const columns: StatusColumn[] = [];
    if (typeof siteURL === 'string') columns.push({ text: siteURL, tone: 'link' });
    if (lastBackup === null) columns.push({ text: 'no backup yet', tone: 'warning' });
    if (typeof lastBackup === 'string') columns.push({ text: 'backup', time: lastBackup });
    return columns;
  },
};

/** The last complete backup of the SiteBackups: null without one, undefined without a SiteBackup. */
function lastBackupOf(children: readonly StatusNode[]): string | null | undefined {
  const backups = children.filter(({ kind }) => kind === 'SiteBackup');
  if (backups.length === 0) return undefined;
  const times = backups.flatMap(
    ({ details }) => (details as { readonly lastBackup?: string | null }).lastBackup ?? [],
  );
  return times.toSorted().at(-1) ?? null;
}
