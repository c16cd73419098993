/**
 * The document script on the image's framework: batches as the document engine gives them, and what
 * came of them.
 */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { after, before, describe } from 'node:test';
import type { FieldValue, SiteDocument } from '../../constructs/kit/document.js';
import { admit } from '../../constructs/kit/schema/admit.js';
import { DEFINITIONS } from '../../constructs/registry.js';
import { VERSIONS } from '../../testbed/stand-in/image.js';
import type { Database } from '../jobs/databases.js';
import {
  type Env,
  SCRIPTS,
  scriptResult,
  type ScriptResult,
  temporaryDirectory,
} from '../jobs/servers.js';
import { aManifest } from '../unit/schema-manifests.js';
import { type CommandResult, type Site, Stack, needsImage, realBench } from './fixture.js';
import { WarmPython } from './warm-python.js';

export type Row = Readonly<Record<string, FieldValue>>;

/** A document of a test; the values of its secrets stand in it. */
export type Wanted = Partial<Omit<SiteDocument, 'secrets'>> &
  Pick<SiteDocument, 'doctype' | 'name'> & { readonly secrets?: Readonly<Record<string, string>> };

/** A resource as the API server stores it. */
export function stored(kind: string, spec: Readonly<Record<string, unknown>>): unknown {
  const definition = DEFINITIONS.find((known) => known.kind === kind);
  assert.ok(definition);
  const manifest = aManifest(kind, { siteRef: { name: 'shop' }, ...spec });
  const { object, problems, pruned } = admit(definition, manifest);
  assert.deepEqual([...problems, ...pruned], []);
  return object;
}

/** A document of a kind, for a test that gives it no secrets. */
export const withoutSecrets = ({ secrets: _, ...document }: SiteDocument): Wanted => document;

export interface Outcome {
  readonly outcome: string;
  readonly message: string;
  readonly ignored: readonly string[];
}

export interface Run extends ScriptResult {
  /** By name, in the order of the batch; empty when the script itself failed. */
  readonly results: Readonly<Record<string, Outcome>>;
  /** Name → outcome. */
  readonly outcomes: Readonly<Record<string, string>>;
}

/** The files of one batch, as the Job's pod has them. */
export class Batch {
  readonly env: Env;

  constructor(
    readonly site: Site,
    readonly wanted: readonly Wanted[],
  ) {
    const folder = temporaryDirectory();
    const documents = wanted.map((document, index) => {
      const id = idOf(index);
      mkdirSync(join(folder, 'secrets', id), { recursive: true });
      for (const [field, value] of Object.entries(document.secrets ?? {})) {
        if (value !== MISSING) writeFileSync(join(folder, 'secrets', id, field), value);
      }
      const given = { state: 'present', fields: {}, json: {}, tables: {}, needs: [], ...document };
      return { id, ...given, secrets: Object.keys(document.secrets ?? {}) };
    });
    writeFileSync(join(folder, 'documents.json'), JSON.stringify({ documents }));
    this.env = {
      SITE_NAME: site.name,
      DOCUMENTS: join(folder, 'documents.json'),
      SECRETS: join(folder, 'secrets'),
    };
  }

  results(terminationMessage: string): Readonly<Record<string, Outcome>> {
    const packed = terminationMessage.startsWith('gz:');
    const text = packed
      ? gunzipSync(Buffer.from(terminationMessage.slice(3), 'base64')).toString()
      : terminationMessage;
    const { results } = JSON.parse(text) as {
      results: Record<string, [string, string, string[]]>;
    };
    assert.equal(Object.keys(results).length, this.wanted.length);
    return Object.fromEntries(
      this.wanted.map(({ name }, index) => {
        const [outcome = '', message = '', ignored = []] = results[idOf(index)] ?? [];
        return [name, { outcome, message, ignored }];
      }),
    );
  }
}

/** Stands for a secret whose file does not exist. */
export const MISSING = '\0';

function idOf(index: number): string {
  return index.toString(16).padStart(10, '0');
}

/** A site, and the script on it. */
export class DocumentSite {
  constructor(
    readonly stack: Stack,
    readonly site: Site,
  ) {}

  async run(wanted: readonly Wanted[], env: Env = {}): Promise<Run> {
    const batch = new Batch(this.site, wanted);
    const done = await this.#script({ ...batch.env, ...env });
    const results = done.code === 0 ? batch.results(done.terminationMessage) : {};
    const outcomes = Object.entries(results).map(([name, { outcome }]) => [name, outcome]);
    return { ...done, results, outcomes: Object.fromEntries(outcomes) as Record<string, string> };
  }

  /** The script in a fork of a process that knows the stand-in; in a process of its own on another framework. */
  async #script(env: Env): Promise<ScriptResult> {
    const { bench } = this.stack;
    if (realBench(bench.version) !== undefined) return bench.script('site_documents.py', env);
    const log = join(temporaryDirectory(), 'termination-log');
    const file = join(SCRIPTS, 'site_documents.py');
    const variables = { ...bench.env, ...env, TERMINATION_LOG: log };
    const { code, output } = await this.#python().run({ file, env: variables });
    return scriptResult(code, output, log);
  }

  #warm: WarmPython | undefined;

  #python(): WarmPython {
    this.#warm ??= new WarmPython(this.stack.bench.python, this.stack.bench.env);
    return this.#warm;
  }

  /** `bench --site NAME execute METHOD` */
  async execute(method: string, kwargs: object): Promise<CommandResult> {
    const { bench } = this.stack;
    const args = ['execute', method, `--kwargs=${JSON.stringify(kwargs)}`];
    if (realBench(bench.version) !== undefined) return this.site.bench(...args);
    return this.#python().run({
      module: 'frappe.utils.bench_helper',
      args: ['frappe', '--site', this.site.name, ...args],
      cwd: bench.sites,
      env: bench.env,
    });
  }

  async stop(): Promise<void> {
    await this.#warm?.stop();
    await this.stack.stop();
  }

  /** Runs a batch in which nothing may fail; name → outcome. */
  async write(...wanted: readonly Wanted[]): Promise<Readonly<Record<string, string>>> {
    const run = await this.run(wanted);
    const failed = Object.values(run.results).filter(({ outcome }) => outcome === 'Failed');
    assert.deepEqual([run.code, failed], [0, []], run.output);
    return run.outcomes;
  }

  /** The framework's words about one document, which has to fail. */
  async refusal(wanted: Wanted): Promise<string> {
    const { results, output } = await this.run([wanted]);
    assert.equal(results[wanted.name]?.outcome, 'Failed', output);
    return results[wanted.name]?.message ?? '';
  }

  sql(statement: string): string {
    return this.site.sql(statement);
  }

  /** Roles of a user, sorted. */
  roles(user: string): readonly string[] {
    const rows = this.sql(
      `SELECT \`role\` FROM \`tabHas Role\` WHERE \`parent\` = '${user}' ORDER BY \`role\``,
    );
    return rows === '' ? [] : rows.split('\n');
  }
}

export function user(name: string, change: Partial<Wanted> = {}): Wanted {
  const { fields, ...rest } = change;
  const own = { email: name, first_name: 'Ann', enabled: true, send_welcome_email: false };
  return { doctype: 'User', name, fields: { ...own, ...fields }, ...rest };
}

export function roles(...names: readonly string[]): Readonly<Record<string, readonly Row[]>> {
  return { roles: names.map((role) => ({ role })) };
}

export function chart(name: string, change: Partial<Wanted> = {}): Wanted {
  const { fields, ...rest } = change;
  const own = { chart_type: 'Count', type: 'Line', document_type: 'User', based_on: 'creation' };
  const json = { filters_json: [], dynamic_filters_json: [] };
  return { doctype: 'Dashboard Chart', name, fields: { ...own, ...fields }, json, ...rest };
}

export function workspace(name: string, change: Partial<Wanted> = {}): Wanted {
  const { fields, ...rest } = change;
  const own = { label: name, title: name, public: true };
  return { doctype: 'Workspace', name, fields: { ...own, ...fields }, json: { content: [] }, ...rest }; // prettier-ignore
}

/** The same suite on every database and version that differ. */
export async function describeDocuments(
  title: string,
  tests: (site: () => DocumentSite, version: string) => void,
): Promise<void> {
  const kinds: readonly (readonly [Database['type'], string])[] = [
    ['mariadb', VERSIONS.first],
    ['mariadb', VERSIONS.next],
    ['postgres', VERSIONS.first],
  ];
  for (const [type, version] of kinds) {
    const server = type === 'mariadb' ? 'mariadbd' : 'postgres';
    const possible = await needsImage(server, 'redis-server', 'python3');
    describe(`${title} on ${type}, ${version}`, possible, () => {
      let site: DocumentSite | undefined;
      before(async () => {
        const stack = await Stack.start(type, version);
        site = new DocumentSite(stack, stack.site());
        const created = await site.site.init();
        assert.equal(created.code, 0, created.output);
      });
      after(() => site?.stop());
      tests(() => {
        if (site === undefined) throw new Error('not started');
        return site;
      }, version);
    });
  }
}
