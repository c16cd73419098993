import type { Command } from '../arguments/command.js';
import {
  ALL_NAMESPACES,
  API_GROUP,
  CLUSTER,
  FILES,
  output,
  SERVES,
  SETTINGS,
} from '../arguments/shared-flags.js';

/** What kinds of resources a name can be given for, in the words of the command line. */
const RESOURCE = '[bench|site|KIND][/NAME]';

/** Every command, in the order of the help. */
export const COMMANDS: readonly Command[] = [
  {
    name: 'status',
    summary: 'show benches and sites as a tree, with health, and what they wait for',
    synopsis: RESOURCE,
    details: `
What is healthy is folded; what is not is shown down to the pod, with the last lines of its log. It takes
rights to read only, and says what it was not shown. Exit code 1: not there, or nothing could be read.

  status                        all benches and sites of the namespace
  status site/shop              one of them; kinds as in kubectl get, such as bench, as, SiteBackup
  status --watch                again whenever something changes`,
    flags: {
      ...CLUSTER,
      ...ALL_NAMESPACES,
      all: { type: 'boolean', help: 'fold nothing' },
      watch: { type: 'boolean', short: 'w', help: 'go on until Ctrl-C' },
      ...output('tree', 'json', 'yaml'),
      ...API_GROUP,
    },
    positionals: { most: 2, complete: 'resource' },
    load: async () => (await import('./status/run.js')).statusCommand,
  },
  {
    name: 'diff',
    summary: 'show what files would change in the cluster, down to the children',
    details: `
Custom resources are sent to the API server as a dry run; their children are made from its answers, as the
operator makes them, and compared with what is there, as a dry run too. Nothing is changed. Values of
Secrets are masked. Exit codes: 0 nothing would change, 1 something would, 2 an error.`,
    flags: {
      ...FILES,
      ...CLUSTER,
      'field-manager': {
        type: 'string',
        value: 'NAME',
        help: 'under which you apply the files (default kubectl)',
      },
      ...output('patch', 'json'),
      ...SETTINGS,
      ...API_GROUP,
    },
    load: async () => (await import('./diff/run.js')).diffCommand,
  },
  {
    name: 'report',
    summary: 'write one archive for a bug report, without secrets',
    details: `
The archive holds custom resources, their children, pods, events and logs, the operator's own objects and
log, and which APIs are served. Of Secrets it has names, keys and sizes; their values are looked for in
everything else and replaced. Look into it before you give it away: MANIFEST.json says what is in it.`,
    flags: {
      ...CLUSTER,
      ...ALL_NAMESPACES,
      'operator-namespace': {
        type: 'string',
        value: 'NAME',
        help: 'where the operator runs (default app-operator-system)',
        complete: 'namespace',
      },
      output: {
        type: 'string',
        short: 'o',
        value: 'FILE',
        help: 'the archive (default app-operator-report-<time>.tar.gz)',
        complete: 'file',
      },
      ...API_GROUP,
    },
    load: async () => (await import('./report/run.js')).reportCommand,
  },
  {
    name: 'render',
    summary: 'print the complete graph of the benches and sites in files, with no cluster',
    flags: { ...FILES, ...API_GROUP, ...SERVES, ...SETTINGS },
    load: async () => (await import('./render/run.js')).renderCommand,
  },
  {
    name: 'crds',
    summary: 'print the CustomResourceDefinitions',
    flags: API_GROUP,
    load: async () => (await import('./render/run.js')).crdsCommand,
  },
  {
    name: 'install',
    summary: 'print the install manifest',
    flags: {
      image: {
        type: 'string',
        value: 'IMAGE',
        help: "the operator's image with its tag (default: that of this version)",
      },
      replicas: {
        type: 'string',
        value: 'N',
        help: 'replicas; one works, the others stand by (default 1)',
      },
      namespaces: {
        type: 'string',
        value: 'NAMES',
        help: 'namespaces to work in, separated by commas (default: all)',
      },
      namespaced: {
        type: 'boolean',
        help: "no Namespace, CRDs or ClusterRoles: what a namespace's administrator can apply",
      },
      'platform-ids': {
        type: 'boolean',
        help: 'the platform assigns the ids of pods, as OpenShift does: set none of ours',
      },
      'no-webhooks': {
        type: 'boolean',
        help: 'the API server does not ask the operator about changes of its kinds',
      },
      'limit-egress': {
        type: 'boolean',
        help: "the operator's NetworkPolicy limits what it reaches too",
      },
      ...API_GROUP,
    },
    load: async () => (await import('./render/run.js')).installCommand,
  },
  {
    name: 'completion',
    summary: 'print the script that lets a shell complete commands, flags and names',
    synopsis: 'bash|zsh|fish',
    details: `
  bash    source <(app-operator completion bash)
  zsh     source <(app-operator completion zsh)
  fish    app-operator completion fish | source`,
    flags: {},
    positionals: { most: 1, complete: ['bash', 'zsh', 'fish'] },
    load: async () => (await import('./completion/run.js')).completionCommand,
  },
  {
    name: 'version',
    summary: 'print the version',
    flags: output('text', 'json'),
    load: async () => (await import('./version/run.js')).versionCommand,
  },
];
