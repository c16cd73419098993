import { stripVTControlCharacters, styleText } from 'node:util';
import { ageOf } from './age.js';
import { isQuiet, type Node } from './node.js';

export interface RenderOptions {
  readonly colours: boolean;
  /** Width to keep within; undefined for any. */
  readonly columns?: number | undefined;
  /** Milliseconds since 1970. */
  readonly now: number;
  /** Whether nothing is folded. */
  readonly all?: boolean;
  /** Whether names have their namespace. */
  readonly namespaces?: boolean;
}

type Colour = 'green' | 'yellow' | 'red' | 'dim' | 'bold' | 'cyan';

const SIGNS: Readonly<Record<Node['state'], readonly [string, Colour]>> = {
  Ready: ['✔', 'green'],
  InProgress: ['◌', 'yellow'],
  Failed: ['✘', 'red'],
  Terminating: ['−', 'yellow'],
  Missing: ['?', 'red'],
};
/** Kinds that are worth a line each while all is well with them. */
const SHOWN = new Set([
  ...['Deployment', 'StatefulSet', 'Job', 'CronJob', 'Ingress', 'Certificate', 'ScaledObject'],
  ...['AppBench', 'AppSite', 'SiteBackup', 'SiteJob'],
]);
const RESOURCES = /^(App|Site)[A-Z]/;

/** Trees as lines of text. */
export function renderTrees(roots: readonly Node[], options: RenderOptions): readonly string[] {
  const render = new Renderer(options);
  return roots.flatMap((root, index) => [...(index > 0 ? [''] : []), ...render.root(root)]);
}

class Renderer {
  constructor(private readonly options: RenderOptions) {}

  root(node: Node): readonly string[] {
    return this.#lines(node, '', '', true);
  }

  #lines(node: Node, head: string, indent: string, open: boolean): readonly string[] {
    const { shown, folded } = this.#folding(node, open);
    const below = shown.length > 0 || folded.length > 0;
    const rest = `${indent}${below ? '│  ' : '   '}`;
    const lines = [this.#cut(`${this.#paint('dim', head)}${this.#title(node)}`)];
    if (node.message !== '') lines.push(...this.#message(node, rest));
    if (node.log) lines.push(...this.#log(node.log, rest));
    shown.forEach((child, index) => {
      const last = index === shown.length - 1 && folded.length === 0;
      const own = `${indent}${last ? '└─ ' : '├─ '}`;
      lines.push(...this.#lines(child, own, `${indent}${last ? '   ' : '│  '}`, !isQuiet(child)));
    });
    if (folded.length > 0) lines.push(this.#foldedLine(folded, `${indent}└─ `));
    return lines;
  }

  /** Which children get lines of their own: what is not well always does. */
  #folding(node: Node, open: boolean): { shown: readonly Node[]; folded: readonly Node[] } {
    const { children } = node;
    if (this.options.all) return { shown: children, folded: [] };
    if (!open) return { shown: [], folded: [] };
    const trouble = !isQuiet(node) && children.some((child) => !isQuiet(child));
    const isShown = (child: Node): boolean =>
      !isQuiet(child) || (SHOWN.has(child.kind) && (!trouble || RESOURCES.test(child.kind)));
    const pods = children.every(({ kind }) => kind === 'Pod');
    return {
      shown: children.filter(isShown),
      folded: pods ? [] : children.filter((child) => !isShown(child)),
    };
  }

  #title(node: Node): string {
    const [sign, colour] = SIGNS[node.state];
    const name = this.options.namespaces ? `${node.namespace}/${node.name}` : node.name;
    const isOurs = RESOURCES.test(node.kind);
    const { phase } = node.details;
    const inputs = [
      isOurs && this.#paint(colour, phase ?? node.state),
      ...this.#inputs(node),
      node.since !== undefined && this.#paint('dim', ageOf(node.since, this.options.now)),
    ];
    return [
      `${this.#paint(colour, sign)} ${this.#paint('dim', node.kind)} ${isOurs ? this.#paint('bold', name) : name}`,
      ...inputs.filter((fact) => fact !== false),
    ].join('  ');
  }

  #inputs({ kind, details, state }: Node): readonly string[] {
    const { replicas, restarts, queueLength, sites, lastBackup } = details;
    const time = (at: string): string => `${ageOf(at, this.options.now)} ago`;
    return [
      details.paused ? this.#paint('yellow', 'paused') : '',
      details.frameworkVersion ?? '',
      sites === undefined ? '' : `${sites} ${sites === 1 ? 'site' : 'sites'}`,
      details.upgrade === undefined ? '' : `upgrade ${details.upgrade}`,
      details.siteURL === undefined ? '' : this.#paint('cyan', details.siteURL),
      details.schedule === undefined ? '' : `"${details.schedule}"`,
      replicas ? `${replicas.ready}/${replicas.desired}` : '',
      kind === 'Job' && state === 'Ready' ? 'done' : '',
      queueLength === undefined ? '' : `${queueLength} queued`,
      restarts === undefined
        ? ''
        : this.#paint('yellow', `${restarts} ${restarts === 1 ? 'restart' : 'restarts'}`),
      lastBackup === null ? this.#paint('yellow', 'no backup yet') : '',
      typeof lastBackup === 'string' ? `backup ${time(lastBackup)}` : '',
      details.stored === undefined ? '' : `${details.stored} stored`,
    ].filter(Boolean);
  }

  #message({ message, state }: Node, rest: string): readonly string[] {
    const [, colour] = SIGNS[state];
    return this.#wrap(plain(message), rest.length + 1).map(
      (line) => `${this.#paint('dim', rest)} ${this.#paint(colour, line)}`,
    );
  }

  #log({ container, previous, lines }: NonNullable<Node['log']>, rest: string): readonly string[] {
    const title = `log of ${container}${previous ? ', the run before' : ''}:`;
    return [title, ...lines.map((line) => `  ${plain(line)}`)].map((line) =>
      this.#cut(this.#paint('dim', `${rest} ${line}`)),
    );
  }

  #foldedLine(nodes: readonly Node[], head: string): string {
    const counts = [...Map.groupBy(nodes, ({ kind }) => kind)].map(([kind, of]) =>
      of.length === 1 ? kind : `${of.length} ${kind}`,
    );
    return this.#cut(
      `${this.#paint('dim', head)}${this.#paint('green', '✔')} ${this.#paint('dim', `${nodes.length} more: ${counts.toSorted(byWord).join(', ')}`)}`,
    );
  }

  /** Text in lines that fit; words are kept whole where they can be. */
  #wrap(text: string, indent: number): readonly string[] {
    const width = Math.max(20, (this.options.columns ?? Infinity) - indent);
    const lines: string[] = [];
    for (const word of text.split(/\s+/)) {
      const last = lines.at(-1);
      if (last !== undefined && last.length + 1 + word.length <= width)
        lines[lines.length - 1] = `${last} ${word}`;
      else lines.push(word);
    }
    return lines.map((line) => this.#cut(line, width));
  }

  /** A line that is not wider than the terminal; colours count for nothing. */
  #cut(line: string, width = this.options.columns ?? Infinity): string {
    let left = width;
    let cut = false;
    // eslint-disable-next-line no-control-regex -- what colours a terminal begins with an escape
    const parts = line.split(/(\x1b\[[0-9;]*m)/).map((part, index) => {
      if (index % 2 === 1 || cut) return index % 2 === 1 ? part : '';
      const letters = Array.from(part);
      if (letters.length <= left) {
        left -= letters.length;
        return part;
      }
      cut = true;
      return `${letters.slice(0, Math.max(0, left - 1)).join('')}…`;
    });
    return parts.join('');
  }

  #paint(colour: Colour, text: string): string {
    return this.options.colours ? styleText(colour, text, { validateStream: false }) : text;
  }
}

/** Text of others, which must not steer the terminal. */
function plain(text: string): string {
  return stripVTControlCharacters(text)
    .replaceAll(/\s/g, ' ')
    .replaceAll(/\p{Cc}/gu, '');
}

function byWord(a: string, b: string): number {
  const [first, second] = [a, b].map((text) => text.replace(/^\d+ /, ''));
  return (first ?? '').localeCompare(second ?? '');
}
