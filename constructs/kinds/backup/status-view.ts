import type { StatusColumn, StatusView } from '../../kit/status-view.js';
import type { SiteBackup } from '../../api/backup.js';

export const backupStatusView: StatusView<SiteBackup> = {
  details: ({ spec, status = {} }) => ({
    schedule: spec.schedule,
    lastBackup: status.lastSuccessfulTime ?? null,
    stored: status.count,
  }),
  columns({ schedule, lastBackup, stored }) {
    const columns: StatusColumn[] = [];
    if (typeof schedule === 'string') columns.push({ text: `"${schedule}"` });
    if (lastBackup === null) columns.push({ text: 'no backup yet', tone: 'warning' });
    if (typeof lastBackup === 'string') columns.push({ text: 'backup', time: lastBackup });
    if (typeof stored === 'number') columns.push({ text: `${stored} stored` });
    return columns;
  },
  notice: ({ status }) =>
    status?.lastFailure === undefined ? undefined : `the last run failed: ${status.lastFailure}`,
};
