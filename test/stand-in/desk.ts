/** The first login and the desk of a site's users, by the requests that a browser sends. */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loginContent, loginFiles } from '../../constructs/configuration/first-login.js';
import type { SiteSetup, SiteSocialLogin } from '../../constructs/api/site.js';
import { type Answer, type Env, get, temporaryDirectory } from '../jobs/servers.js';
import { type Boot, bootIn, tokenIn } from '../support/desk-page.js';
import type { Site, Stack, Web } from './fixture.js';

/** Outcome, reason, message, the keys that differed, and what is left out. */
export type ConfigurationResult = readonly [
  ...[string, string, string, readonly string[]],
  (readonly string[])?,
];

export interface FirstLoginSpec {
  readonly setup?: SiteSetup;
  readonly sso?: readonly SiteSocialLogin[];
}

/** Runs the configuration Job of a site. @param secrets the values of Secrets, by key */
export async function configureLogin(
  stack: Stack,
  site: Site,
  { setup, sso }: FirstLoginSpec,
  secrets: Readonly<Record<string, string>>,
): Promise<ConfigurationResult> {
  const values = temporaryDirectory();
  mkdirSync(values, { recursive: true });
  for (const { file, reference } of loginFiles(sso)) {
    const value = secrets[reference.key];
    if (value !== undefined) writeFileSync(join(values, file), value);
  }
  const { SITE_NAME = '', SITE_OWNER = '' } = site.env;
  const env: Env = {
    ...{ SITE_NAME, SITE_OWNER, REQUEST: 'r', VALUES: values, SITE_CONFIG: '[]' },
    ...(setup ? { SITE_SETUP: JSON.stringify(setup) } : {}),
    ...(sso
      ? { SITE_SSO: JSON.stringify(sso.map((login, index) => loginContent(login, index))) }
      : {}),
  };
  const run = await stack.bench.script('site_configuration.py', env);
  assert.equal(run.code, 0, run.output);
  for (const secret of Object.values(secrets).filter((value) => value.trim() !== '')) {
    assert.ok(!`${run.output}${run.terminationMessage}`.includes(secret), 'a value is reported');
  }
  const { results } = JSON.parse(run.terminationMessage) as {
    readonly results: { readonly r: ConfigurationResult };
  };
  return results.r;
}

interface SidebarPage {
  readonly name: string;
}
/** A browser in which one user has logged in. */
export class DeskUser {
  private token = '';

  private constructor(
    private readonly server: { readonly web: Web; readonly host: string },
    private readonly cookies: string,
    /** The path that the login has answered: of the desk. */
    readonly path: string,
  ) {}

  static async login(web: Web, host: string, usr: string, pwd: string): Promise<DeskUser> {
    const body = JSON.stringify({ usr, pwd });
    const headers = { Host: host, 'Content-Type': 'application/json' };
    const sent = await get(web.port, '/api/method/login', headers, { method: 'POST', body });
    assert.equal(sent.status, 200, sent.body);
    const { home_page: path } = JSON.parse(sent.body) as { readonly home_page: string };
    const cookies = (sent.headers['set-cookie'] as string[]).map((text) => text.split(';')[0]);
    return new DeskUser({ web, host }, cookies.join('; '), path);
  }

  /** A page, as a browser opens it. */
  page(path: string): Promise<Answer> {
    return get(this.server.web.port, path, { Host: this.server.host, Cookie: this.cookies });
  }

  /** Opens the desk, and returns what its page has about the user. */
  async open(): Promise<Boot> {
    const { status, body } = await this.page(this.path);
    assert.equal(status, 200, body.slice(0, 2000));
    this.token = tokenIn(body);
    return bootIn(body);
  }

  /** Calls a method as the desk does, and returns its message. */
  async call(method: string, args: Readonly<Record<string, unknown>> = {}): Promise<unknown> {
    const { status, body } = await this.send(method, args);
    assert.equal(status, 200, body);
    return (JSON.parse(body) as { readonly message: unknown }).message;
  }

  send(method: string, args: Readonly<Record<string, unknown>> = {}): Promise<Answer> {
    const headers = {
      ...{ Host: this.server.host, Cookie: this.cookies, 'X-Frappe-CSRF-Token': this.token },
      ...{ Accept: 'application/json', 'Content-Type': 'application/json' },
    };
    const body = JSON.stringify(args);
    return get(this.server.web.port, `/api/method/${method}`, headers, { method: 'POST', body });
  }

  /** Names of the workspaces that the desk lists for the user. */
  async workspaces(): Promise<readonly string[]> {
    const listed = await this.call('frappe.desk.desktop.get_workspace_sidebar_items');
    const { pages } = listed as { readonly pages: readonly SidebarPage[] };
    return pages.map(({ name }) => name);
  }
}
