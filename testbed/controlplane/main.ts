import '../../runner/kit/require-node.js';
import { parseArgs } from 'node:util';

import { messageOf } from '../../constructs/kit/errors.js';
import { type ControlPlane, startControlPlane } from './controlplane.js';
import type { ControlPlaneOptions } from './options.js';
import { printProgress } from './progress.js';
import { signalToEnd } from './signal.js';

const USAGE = `Usage: controlplane up [options]

Runs a Kubernetes control plane with simulated nodes on 127.0.0.1 until Ctrl-C.

  --nodes <n>      simulated nodes (default 2; 0: pods stay pending)
  --volumes <n>    volumes of the default StorageClass (default 50)
  --data-dir <dir> keeps data, keys and logs there, and continues from it (default: temporary)
  --audit          logs the metadata of every request
  --help           prints this text
`;

async function main(args: readonly string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      nodes: { type: 'string' },
      volumes: { type: 'string' },
      'data-dir': { type: 'string' },
      audit: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(USAGE);
    return;
  }
  if (positionals.length !== 1 || positionals[0] !== 'up') throw new Error(`\n${USAGE}`);
  const options: ControlPlaneOptions = {
    audit: values.audit,
    kubectl: false,
    onProgress: printProgress,
    ...(values.nodes === undefined ? {} : { kwokNodes: count('--nodes', values.nodes) }),
    ...(values.volumes === undefined
      ? {}
      : { persistentVolumes: count('--volumes', values.volumes) }),
    ...(values['data-dir'] === undefined ? {} : { dataDir: values['data-dir'] }),
  };
  const signalled = signalToEnd();
  const controlPlane = await Promise.race([startControlPlane(options), signalled]);
  // Interrupted while starting: the supervisor cleans up when this process exits.
  if (typeof controlPlane === 'string') process.exit(130);
  process.stdout.write(welcome(controlPlane));
  try {
    await Promise.race([signalled, controlPlane.failed]);
  } finally {
    await controlPlane.stop();
  }
}

function count(flag: string, text: string): number {
  if (/^\d{1,5}$/.test(text)) return Number(text);
  throw new Error(`${flag} must be a whole number from 0 to 99999, not '${text}'`);
}

function welcome({ server, kubeconfig, dataDir, auditLog }: ControlPlane): string {
  return `
Kubernetes is ready at ${server}

  export KUBECONFIG=${kubeconfig}
  kubectl get nodes

Logs: ${dataDir}/logs${auditLog === undefined ? '' : `, audit log: ${auditLog}`}
Ctrl-C stops it.
`;
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`controlplane: ${messageOf(error)}\n`);
  process.exitCode = 1;
}
