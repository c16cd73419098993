/** A bench directory with the stand-in framework, and sites on it, for the tests of site_init.py and site_drop.py. */
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Database } from './databases.js';
import {
  type Env,
  type Redis,
  ROOT,
  type ScriptResult,
  SITE_SCRIPTS,
  required,
  runScript,
  temporaryDirectory,
} from './servers.js';

export const KEY = 'c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LXNlY3I=';

export interface SiteConfig {
  readonly [key: string]: unknown;
}

/** One site's Jobs, with the environment that the operator would give them. */
export class SiteJobs {
  constructor(
    readonly bench: string,
    private readonly env: Env,
  ) {}

  /** The same site with other settings; an empty text takes one away. */
  with(change: Env): SiteJobs {
    return new SiteJobs(this.bench, { ...this.env, ...change });
  }

  init(killAfterMs?: number): Promise<ScriptResult> {
    return this.run('site_init.py', killAfterMs);
  }

  drop(killAfterMs?: number): Promise<ScriptResult> {
    return this.run('site_drop.py', killAfterMs);
  }

  private run(script: string, killAfterMs?: number): Promise<ScriptResult> {
    return runScript([required('python3'), join(SITE_SCRIPTS, script)], this.env, killAfterMs);
  }

  get name(): string {
    return this.env['SITE_NAME'] ?? '';
  }

  path(...parts: readonly string[]): string {
    return join(this.bench, 'sites', this.name, ...parts);
  }

  exists(): boolean {
    return existsSync(this.path());
  }

  json(file: string): SiteConfig {
    return JSON.parse(readFileSync(this.path(file), 'utf8')) as SiteConfig;
  }
}

/** A bench as the image and bench_init.py leave it: apps `frappe`, `erpnext` and `hrms`, our Redis in the common config. */
export function aBench(version: string, redis: Redis): string {
  const bench = temporaryDirectory();
  const framework = join(bench, 'apps/frappe/frappe');
  cpSync(join(ROOT, 'test/scripts/standin/frappe'), framework, { recursive: true });
  setAppVersion(bench, 'frappe', version);
  for (const app of ['erpnext', 'hrms']) setAppVersion(bench, app, '15.1.0');
  mkdirSync(join(bench, 'sites'));
  const url = `redis://:${encodeURIComponent(redis.password)}@127.0.0.1:${String(redis.port)}`;
  writeFileSync(
    join(bench, 'sites/common_site_config.json'),
    JSON.stringify({ redis_cache: url, redis_queue: url }),
  );
  writeFileSync(join(bench, 'sites/apps.txt'), 'frappe\nerpnext\nhrms\n');
  return bench;
}

export function setAppVersion(bench: string, app: string, version: string, patches = ''): void {
  const module = join(bench, 'apps', app, app);
  mkdirSync(module, { recursive: true });
  const file = join(module, '__init__.py');
  const text = existsSync(file) ? readFileSync(file, 'utf8') : '__version__ = ""\n';
  writeFileSync(file, text.replace(/^__version__ = ".*"$/m, `__version__ = "${version}"`));
  writeFileSync(join(module, 'patches.txt'), patches);
}

let counter = 0;

/** A new site's Jobs on that bench and server, with the administrator's login. */
export function aSite(bench: string, database: Database, change: Env = {}): SiteJobs {
  counter += 1;
  const name = `s${String(counter)}_shop`;
  return new SiteJobs(bench, {
    BENCH_DIR: bench,
    PYTHONPATH: join(bench, 'apps/frappe'),
    SITE_NAME: `shop${String(counter)}.example.com`,
    SITE_OWNER: `team/shop${String(counter)}`,
    SITE_APPS: '["frappe"]',
    SITE_REVISION: 'r1',
    DB_TYPE: database.type,
    DB_HOST: '127.0.0.1',
    DB_PORT: String(database.port),
    DB_NAME: name,
    DB_USER: name,
    DB_PASSWORD: 'site "quoted\' pw',
    DB_ROOT_USER: database.adminUser,
    DB_ROOT_PASSWORD: database.adminPassword,
    ADMIN_PASSWORD: '--admin "pw" $1',
    ENCRYPTION_KEY: KEY,
    WAIT_SECONDS: '0',
    MAINTENANCE_SETTLE_SECONDS: '0',
    ...change,
  });
}
