/** What goes wrong during an operation of a namespace. */
import { setTimeout as sleep } from 'node:timers/promises';

import { objectKind } from '../../../../constructs/kit/definition.js';
import { DEFINITIONS } from '../../../../constructs/registry.js';
import { dropped, first, when } from '../../../../testbed/fault-proxy/faults.js';
import { LateKinds, type Mode } from '../late-kinds.js';
import { OPERATIONS, type Operation } from '../lifecycle.js';
import {
  ANSWERS_TO_READS,
  ANSWERS_TO_WRITES,
  type CallFault,
  type CallFaults,
  EVENTS_OF_WATCHES,
} from './call-faults.js';
import { atWrite, type Fault, nameOfWrite } from './fault.js';
import { LEADER_FAULTS } from './leader-faults.js';
import type { Stage } from './stage.js';

const KINDS = DEFINITIONS.map((definition) => objectKind(definition).kind);
/** An operator is killed after one of so many writes. */
const KILLS_EVERY = 6;
const LATE_MS = 1_500;
/** Of an operator whose kinds are stale, from the begin of an operation. */
const LIFE_MS = 4_000;
/** Longer than it takes an operator to notice. */
const AWAY_MS = 5_000;
const ODD = { 'app.kubernetes.io/component': 'x' };
const OPTIONAL = /^\/apis\/(keda|cert-manager|k8s\.mariadb|monitoring)/;
const BEFORE_DELETION = OPERATIONS.filter((operation) => operation !== 'delete');

export const NONE: Fault = {
  name: 'nothing',
  moments: 1,
  inject: async ({ lifecycle }, operation) => {
    await lifecycle.begin(operation);
    await lifecycle.done(operation);
    return operation;
  },
};

/** Ends the operator again and again, in front of, or after, every sixth of its writes. */
function ended(signal: 'SIGTERM' | 'SIGKILL', when: 'before' | 'after'): Fault {
  return {
    name: `${signal} ${when} a write`,
    moments: KILLS_EVERY,
    inject: async (stage, operation, moment) => {
      const names = new Set<string>();
      const end = (): void => stage.operator.kill(signal);
      stage.proxy.rule = (call) => {
        if (!call.isWrite) return undefined;
        const name = nameOfWrite(call);
        const isFirst = !names.has(name);
        names.add(name);
        if (!isFirst || (names.size - 1) % KILLS_EVERY !== moment) return undefined;
        if (when === 'before') {
          end();
          return 'drop';
        }
        return {
          alter: (text) => {
            end();
            return text;
          },
        };
      };
      await stage.lifecycle.begin(operation);
      await stage.alwaysOne(stage.lifecycle.done(operation));
      return operation;
    },
  };
}

/** A part of the kinds is stale or unobserved, and so is the operator that follows a killed one. */
function late(mode: Mode): Fault {
  const shares = 3;
  return {
    name: `${mode} kinds`,
    moments: shares,
    inject: async (stage, operation, moment) => {
      await stage.end('SIGKILL');
      const numbers = new Map<string, number>();
      const has = (plural: string): boolean => {
        const number = numbers.get(plural) ?? numbers.size;
        numbers.set(plural, number);
        return number % shares === moment;
      };
      const kinds = new LateKinds(stage.proxy, new Map([[stage.namespace, { mode, has }]]));
      await (await stage.start()).logged('caches are filled');
      kinds.begin();
      await stage.lifecycle.begin(operation);
      await sleep(LIFE_MS);
      await stage.end('SIGKILL');
      kinds.next();
      await stage.start();
      await stage.lifecycle.done(operation);
      kinds.stop();
      return operation;
    },
  };
}

/** No operator runs when the user acts; with `edited`, children are deleted and changed meanwhile. */
function away(edited: boolean): Fault {
  const kinds = ['Deployment', 'Service', 'ConfigMap', 'Ingress'];
  return {
    name: edited
      ? 'no operator while children are deleted and changed'
      : 'no operator at the begin',
    moments: edited ? 2 : 1,
    inject: async (stage, operation, moment) => {
      const { cluster, namespace, lifecycle } = stage;
      await stage.end('SIGTERM');
      await lifecycle.begin(operation);
      const children = edited ? await cluster.children(namespace) : [];
      const harmed = children.filter(({ kind }) => kinds.includes(kind));
      for (const [index, { kind, metadata }] of harmed.entries()) {
        if (index % 2 === moment) await cluster.delete(kind, namespace, metadata.name);
        else await cluster.patch(kind, namespace, metadata.name, { metadata: { labels: ODD } });
      }
      await stage.start();
      await lifecycle.done(operation);
      return operation;
    },
  };
}

const SERVER_AWAY: Fault = {
  name: 'nothing listens for a while',
  moments: 4,
  inject: async (stage, operation, moment) => {
    const { proxy, lifecycle } = stage;
    let back = Promise.resolve();
    atWrite(stage, moment, () => {
      back = proxy
        .refuse()
        .then(() => sleep(AWAY_MS))
        .then(() => proxy.accept());
      return undefined;
    });
    await lifecycle.begin(operation);
    await lifecycle.done(operation);
    await back;
    return operation;
  },
};

const DISCOVERY_FAILS: Fault = {
  name: 'the optional APIs cannot be found out at first',
  moments: 1,
  inject: async (stage, operation) => {
    await stage.end('SIGTERM');
    stage.proxy.rule = when(({ path }) => OPTIONAL.test(path), first(3, dropped));
    await stage.start();
    await stage.lifecycle.begin(operation);
    await stage.lifecycle.done(operation);
    return operation;
  },
};

/** Another operation begins in front of a write of this one. */
function overlapped(
  next: (operation: Operation) => Operation,
  lateMs: number,
  name: string,
  firstMoment = 0,
): Fault {
  return {
    name,
    moments: 4,
    operations: BEFORE_DELETION,
    otherJobs: true,
    inject: async (stage, operation, moment) => {
      const { proxy, lifecycle } = stage;
      const after = next(operation);
      let begun: Promise<void> | undefined;
      proxy.watchDelay = () => lateMs;
      atWrite(stage, firstMoment + moment, () => (begun = lifecycle.begin(after)));
      await lifecycle.begin(operation);
      // An operation may wait for something else before it comes to this write.
      for (let waits = 0; begun === undefined && waits < 10; waits++) await sleep(1_000);
      await (begun ?? lifecycle.begin(after));
      await lifecycle.done(after);
      return after;
    },
  };
}

const following = (operation: Operation): Operation =>
  OPERATIONS[OPERATIONS.indexOf(operation) + 1] ?? 'delete';

/** Each path has a fault of its own, as far as they go. */
function calls(name: string, faults: CallFaults): Fault {
  return {
    name,
    moments: faults().length,
    inject: async (stage, operation, moment) => {
      const { proxy, lifecycle } = stage;
      const all = faults();
      const ofPath = new Map<string, CallFault | undefined>();
      const faultOf = (path: string): CallFault | undefined => {
        if (!ofPath.has(path)) ofPath.set(path, all[(moment + ofPath.size) % all.length]);
        return ofPath.get(path);
      };
      proxy.rule = (call) => {
        if (!call.isList && !call.isWatch && !call.isWrite) return undefined;
        return faultOf(call.path)?.rule?.(call);
      };
      proxy.watchFault = (path) => faultOf(path)?.watchFault;
      for (const watch of proxy.watches) watch.expire();
      await lifecycle.begin(operation);
      await lifecycle.done(operation);
      return operation;
    },
  };
}

/** Deletes what the operator has written, when the operation has ended. */
function taken(name: string, take: (stage: Stage) => Promise<void>): Fault {
  return {
    name,
    moments: 1,
    operations: BEFORE_DELETION,
    inject: async (stage, operation, moment) => {
      await NONE.inject(stage, operation, moment);
      await take(stage);
      return operation;
    },
  };
}

const TAKEN: readonly Fault[] = [
  taken('all statuses are lost', async ({ cluster, namespace }) => {
    for (const kind of KINDS) {
      for (const { metadata } of await cluster.list(kind, namespace)) {
        await cluster.patchStatus(kind, namespace, metadata.name, { status: null });
      }
    }
  }),
  taken('all owner references are removed', async ({ cluster, namespace }) => {
    for (const { kind, metadata } of await cluster.children(namespace)) {
      // A Job that has ended stays as it is.
      if (kind === 'Job') continue;
      await cluster.patch(kind, namespace, metadata.name, { metadata: { ownerReferences: null } });
    }
  }),
];

export const FAULTS: readonly Fault[] = [
  ended('SIGKILL', 'before'),
  ended('SIGKILL', 'after'),
  ended('SIGTERM', 'after'),
  late('stale'),
  late('unobserved'),
  away(false),
  away(true),
  SERVER_AWAY,
  DISCOVERY_FAILS,
  ...LEADER_FAULTS,
  overlapped(following, 0, 'the next operation begins'),
  overlapped(following, LATE_MS, 'the next operation begins, and events are late'),
  // A bench that is deleted before it has its finalizer leaves a site that cannot be dropped: the first writes.
  overlapped(() => 'delete', 0, 'all is deleted meanwhile', 3),
  ...TAKEN,
  calls('events of watches', EVENTS_OF_WATCHES),
  calls('answers to lists and watches', ANSWERS_TO_READS),
  calls('answers to writes', ANSWERS_TO_WRITES),
];
