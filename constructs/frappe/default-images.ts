/** The images of servers where a spec names none. */
export const REDIS_IMAGE = 'redis:7.2-alpine';
export const DATABASE_IMAGES = { mariadb: 'mariadb:10.11', postgres: 'postgres:16' } as const;
