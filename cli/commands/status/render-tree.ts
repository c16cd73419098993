import { stripVTControlCharacters, styleText } from 'node:util';
import { Certificate } from '../../../constructs/integrations/cert-manager/kinds.js';
import { ScaledObject } from '../../../constructs/integrations/keda/kinds.js';
import {
  CronJob,
  Deployment,
  Ingress,
  Job,
  kindId,
  StatefulSet,
} from '../../../constructs/kit/object-kind.js';
import type { StatusColumn } from '../../../constructs/kit/status-view.js';
import { KINDS, type AnyKind } from '../../../constructs/registry.js';
import { childKinds, kindNamed, POD } from '../../kube/kinds.js';
import { ageOf } from './age.js';
import { isHealthy, type Details, type Node } from './tree-node.js';

export interface RenderOptions {
  readonly colours: boolean;
  /** The width of the terminal; undefined for unlimited. */
  readonly columns?: number | undefined;
  /** Milliseconds since 1970. */
  readonly now: number;
  /** Whether healthy objects are shown too. */
  readonly all?: boolean;
  /** Whether names are prefixed with their namespace. */
  readonly namespaces?: boolean;
  /** @default KINDS */
  readonly kinds?: readonly AnyKind[];
}

type Colour = 'green' | 'yellow' | 'red' | 'dim' | 'bold' | 'cyan';

/** Children that have a line of their own while they are Ready; others are only counted. */
const SHOWN_WHEN_READY = new Set(
  [Deployment, StatefulSet, Job, CronJob, Ingress, Certificate, ScaledObject].map(kindId),
);

const SIGNS: Readonly<Record<Node['state'], readonly [string, Colour]>> = {
  Ready: ['✔', 'green'],
  InProgress: ['◌', 'yellow'],
  Failed: ['✘', 'red'],
  Terminating: ['−', 'yellow'],
  Missing: ['?', 'red'],
};
const TONES: Readonly<Record<NonNullable<StatusColumn['tone']>, Colour>> = {
  link: 'cyan',
  warning: 'yellow',
};

/** Trees as lines of text. */
export function renderTrees(roots: readonly Node[], options: RenderOptions): readonly string[] {
  const renderer = new Renderer(options);
  return roots.flatMap((root, index) => [...(index > 0 ? [''] : []), ...renderer.root(root)]);
}

class Renderer {
  readonly #kinds: readonly AnyKind[];
  readonly #shownChildren: ReadonlySet<string>;

  constructor(private readonly options: RenderOptions) {
    this.#kinds = options.kinds ?? KINDS;
    this.#shownChildren = new Set(
      childKinds(this.#kinds)
        .filter((kind) => SHOWN_WHEN_READY.has(kindId(kind)))
        .map(({ kind }) => kind),
    );
  }

  root(node: Node): readonly string[] {
    return this.#lines(node, '', '', true);
  }

  #lines(node: Node, head: string, indent: string, open: boolean): readonly string[] {
    const { shown, collapsed } = this.#partition(node, open);
    const hasChildren = shown.length > 0 || collapsed.length > 0;
    const rest = `${indent}${hasChildren ? '│  ' : '   '}`;
    const lines = [this.#cut(`${this.#paint('dim', head)}${this.#title(node)}`)];
    if (node.message !== '') lines.push(...this.#message(node, rest));
    if (node.log) lines.push(...this.#log(node.log, rest));
    shown.forEach((child, index) => {
      const last = index === shown.length - 1 && collapsed.length === 0;
      const own = `${indent}${last ? '└─ ' : '├─ '}`;
      lines.push(...this.#lines(child, own, `${indent}${last ? '   ' : '│  '}`, !isHealthy(child)));
    });
    if (collapsed.length > 0) lines.push(this.#collapsedLine(collapsed, `${indent}└─ `));
    return lines;
  }

  /** Children with their own lines, and collapsed ones. An unhealthy child always has its own line. */
  #partition(node: Node, open: boolean): { shown: readonly Node[]; collapsed: readonly Node[] } {
    const { children } = node;
    if (this.options.all) return { shown: children, collapsed: [] };
    if (!open) return { shown: [], collapsed: [] };
    const onlyResources = children.some((child) => !isHealthy(child));
    const isShown = (child: Node): boolean =>
      !isHealthy(child) || this.#isShownWhenReady(child, onlyResources);
    const onlyPods = children.every(({ kind }) => kind === POD.kind);
    return {
      shown: children.filter(isShown),
      collapsed: onlyPods ? [] : children.filter((child) => !isShown(child)),
    };
  }

  /** Beside an unhealthy child, healthy resources keep their lines, and other objects do not. */
  #isShownWhenReady({ kind }: Node, onlyResources: boolean): boolean {
    const resource = kindNamed(kind, this.#kinds);
    if (resource) return !resource.statusView?.collapsed;
    return !onlyResources && this.#shownChildren.has(kind);
  }

  #title(node: Node): string {
    const [sign, colour] = SIGNS[node.state];
    const name = this.options.namespaces ? `${node.namespace}/${node.name}` : node.name;
    const kind = kindNamed(node.kind, this.#kinds);
    const head = [
      this.#paint(colour, sign),
      this.#paint('dim', node.kind),
      kind ? this.#paint('bold', name) : name,
    ].join(' ');
    const columns = kind ? this.#resourceColumns(node, kind) : this.#objectColumns(node);
    const age = node.since === undefined ? [] : [this.#paint('dim', this.#age(node.since))];
    return [head, ...columns, ...age].join('  ');
  }

  #resourceColumns({ details, state }: Node, { statusView }: AnyKind): readonly string[] {
    const { phase, paused } = details;
    const [, colour] = SIGNS[state];
    const columns =
      statusView?.columns?.(details as Parameters<typeof statusView.columns>[0]) ?? [];
    return [
      this.#paint(colour, phase ?? state),
      ...(paused ? [this.#paint('yellow', 'paused')] : []),
      ...columns.map((column) => this.#column(column)),
    ];
  }

  #column({ text, time, tone }: StatusColumn): string {
    const full = time === undefined ? text : `${text} ${this.#age(time)} ago`;
    return tone === undefined ? full : this.#paint(TONES[tone], full);
  }

  #objectColumns({ kind, details, state }: Node): readonly string[] {
    const { replicas, restarts, queueLength }: Details = details;
    const columns: string[] = [];
    if (replicas) columns.push(`${replicas.ready}/${replicas.desired}`);
    if (kind === 'Job' && state === 'Ready') columns.push('done');
    if (queueLength !== undefined) columns.push(`${queueLength} queued`);
    if (restarts !== undefined) {
      const text = `${restarts} ${restarts === 1 ? 'restart' : 'restarts'}`;
      columns.push(this.#paint('yellow', text));
    }
    return columns;
  }

  #message({ message, state }: Node, rest: string): readonly string[] {
    const [, colour] = SIGNS[state];
    return this.#wrap(plain(message), rest.length + 1).map(
      (line) => `${this.#paint('dim', rest)} ${this.#paint(colour, line)}`,
    );
  }

  #log({ container, previous, lines }: NonNullable<Node['log']>, rest: string): readonly string[] {
    const title = `log of ${container}${previous ? ' before its restart' : ''}:`;
    return [title, ...lines.map((line) => `  ${plain(line)}`)].map((line) =>
      this.#cut(this.#paint('dim', `${rest} ${line}`)),
    );
  }

  #collapsedLine(nodes: readonly Node[], head: string): string {
    const counts = [...Map.groupBy(nodes, ({ kind }) => kind)]
      .toSorted(([a], [b]) => a.localeCompare(b))
      .map(([kind, of]) => (of.length === 1 ? kind : `${of.length} ${kind}`));
    return this.#cut(
      `${this.#paint('dim', head)}${this.#paint('green', '✔')} ${this.#paint('dim', `${nodes.length} more: ${counts.join(', ')}`)}`,
    );
  }

  #age(time: string): string {
    return ageOf(time, this.options.now);
  }

  /** Text in lines that fit. Only words that are too long are cut. */
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

  /** A line that fits the terminal. Escape sequences of colours have no width. */
  #cut(line: string, width = this.options.columns ?? Infinity): string {
    let left = width;
    let cut = false;
    // eslint-disable-next-line no-control-regex -- escape sequences of colours begin with one
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

/** Text from the cluster, without escape sequences that control the terminal. */
function plain(text: string): string {
  return stripVTControlCharacters(text)
    .replaceAll(/\s/g, ' ')
    .replaceAll(/[\p{Cc}\p{Cf}]/gu, '');
}
