import assert from 'node:assert/strict';

interface DeskIcon {
  readonly label: string;
}
interface Sidebar {
  readonly items: readonly { readonly link_to: string }[];
}

/** What the page of the desk is given about its user: the parts that tests look at. */
export interface Boot {
  readonly setup_complete: unknown;
  readonly home_page: string;
  readonly lang: string;
  readonly time_zone: { readonly system: string; readonly user: string };
  readonly sysdefaults: Readonly<Record<string, string>>;
  readonly user: {
    readonly name: string;
    /** Absent where the user has none. */
    readonly default_workspace?: { readonly name: string };
  };
  /** From version-16 on. */
  readonly desktop_icons?: readonly DeskIcon[];
  readonly workspace_sidebar_item?: Readonly<Record<string, Sidebar>>;
}

const BOOT = /^\s*frappe\.boot = (?:JSON\.parse\((?<text>".*")\)|(?<object>\{.*\}));$/m;
const TOKEN = /frappe\.csrf_token = "(?<token>[^"]*)"/;

/** The data in a page of the desk: an object from version-16 on, and before a text with it. */
export function bootIn(html: string): Boot {
  const { text, object } = BOOT.exec(html)?.groups ?? {};
  const json = text === undefined ? object : (JSON.parse(text) as string);
  assert.ok(json, `the page has no boot: ${html.slice(0, 2000)}`);
  return JSON.parse(json) as Boot;
}

/** The token that requests of the page send. */
export function tokenIn(html: string): string {
  return TOKEN.exec(html)?.groups?.['token'] ?? '';
}

/** Names of the workspaces that an icon of the desk opens: from version-16 on. */
export function behindIcons(boot: Boot): readonly string[] {
  return (boot.desktop_icons ?? [])
    .map(({ label }) => boot.workspace_sidebar_item?.[label.toLowerCase()]?.items ?? [])
    .flatMap((items) => items.map(({ link_to: link }) => link));
}
