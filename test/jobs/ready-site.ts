/**
 * Sites for tests whose subject is not how a site is made. A Job makes the first one on a server; the others are
 * copies of its files and of its database, which take an eighth of a Job's time.
 */
import assert from 'node:assert/strict';
import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { dumpOf } from './backup-fixture.js';
import type { Database } from './databases.js';
import { type Env, temporaryDirectory } from './servers.js';
import { aSite, databaseOf, type SiteJobs } from './site-fixture.js';

/** What a Job has made, before a test changed it. */
interface Template {
  readonly names: readonly string[];
  readonly files: string;
  readonly dump: string;
}

const templates = new WeakMap<Database, Map<string, Template>>();

/** A site as its first Job leaves it. */
export async function readySite(
  bench: string,
  database: Database,
  change: Env = {},
): Promise<SiteJobs> {
  const site = aSite(bench, database, change);
  const known = templates.get(database) ?? new Map<string, Template>();
  templates.set(database, known);
  const key = JSON.stringify([change, codeOf(bench)]);
  const template = known.get(key);
  if (template === undefined) {
    const made = await site.init();
    assert.equal(made.code, 0, made.output);
    known.set(key, templateOf(database, site));
  } else {
    copy(database, site, template);
  }
  return site;
}

/** The versions and the patches of a bench: a site records them. */
function codeOf(bench: string): readonly string[] {
  return readdirSync(join(bench, 'apps')).flatMap((app) =>
    ['__init__.py', 'patches.txt'].map((name) =>
      readFileSync(join(bench, 'apps', app, app, name), 'utf8'),
    ),
  );
}

function templateOf(database: Database, site: SiteJobs): Template {
  const files = temporaryDirectory();
  cpSync(site.path(), files, { recursive: true });
  return { names: site.ownNames, files, dump: dumpOf(database, databaseOf(site)).toString() };
}

function copy(database: Database, site: SiteJobs, { names, files, dump }: Template): void {
  const { ownNames } = site;
  const renamed = (text: string): string =>
    names.reduce((all, name, index) => all.replaceAll(name, ownNames[index] ?? ''), text);
  cpSync(files, site.path(), { recursive: true });
  for (const name of ['.app-operator.json', 'site_config.json']) {
    const file = site.path(name);
    writeFileSync(file, renamed(readFileSync(file, 'utf8')));
  }
  const password = String(site.json('site_config.json')['db_password']);
  database.load(databaseOf(site), password, renamed(dump));
}
