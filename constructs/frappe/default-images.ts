/** The images of servers where a spec names none. */
export const REDIS_IMAGE = 'redis:7.2-alpine';
/** PostgreSQL: the newest that the official images of version-15 and 16 can dump, on Debian 12. */
export const DATABASE_IMAGES = { mariadb: 'mariadb:10.11', postgres: 'postgres:15' } as const;
/** The default of releases before 0.3, which recorded none. A server starts on its own version's data only. */
export const EARLIER_POSTGRES_IMAGE = 'postgres:16';
