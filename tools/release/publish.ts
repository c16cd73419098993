import { homedir } from 'node:os';
import path from 'node:path';
import { CHART_REPOSITORY, PROJECT } from '../../constructs/project.js';
import { run } from '../../testbed/controlplane/run.js';
import { helmOf } from './checks.js';
import type { PushedImage } from './image.js';
import type { Release } from './release.js';
import { ensureTool } from './tools.js';

/** Who signs a release. */
export interface Signer {
  /** Flags of cosign: a key, or none for the identity of the workflow. */
  readonly signing: readonly string[];
  readonly verifying: readonly string[];
  readonly env: NodeJS.ProcessEnv;
}

/** The identity of the workflow. */
export function workflowSigner(version: string): Signer {
  const { host, owner, name } = PROJECT;
  const workflow = `https://${host}/${owner}/${name}/.github/workflows/release.yaml`;
  return {
    signing: ['--yes'],
    verifying: [
      `--certificate-identity=${workflow}@refs/tags/v${version}`,
      '--certificate-oidc-issuer=https://token.actions.githubusercontent.com',
    ],
    env: process.env,
  };
}

/** A key that is made now and thrown away. */
export async function rehearsalSigner({ scratch }: Release): Promise<Signer> {
  const env = { ...process.env, COSIGN_PASSWORD: '' };
  const cosign = await ensureTool('cosign');
  await run(cosign, ['generate-key-pair'], { cwd: scratch, env });
  // Of no transparency log and no authority: they would be asked over the network.
  const config = path.join(scratch, 'signing-config.json');
  const root = path.join(scratch, 'trusted-root.json');
  await run(cosign, ['signing-config', 'create', '--out', config], { env });
  await run(cosign, ['trusted-root', 'create', '--out', root], { env });
  const trust = ['--trusted-root', root];
  return {
    signing: [
      '--yes',
      '--key',
      path.join(scratch, 'cosign.key'),
      '--signing-config',
      config,
      ...trust,
    ],
    verifying: ['--key', path.join(scratch, 'cosign.pub'), '--insecure-ignore-tlog=true', ...trust],
    env,
  };
}

/** Pushes the chart. @returns its reference by digest */
export async function pushChart(
  release: Release,
  archive: string,
  registry: string,
): Promise<string> {
  const repository = `${registry}/${CHART_REPOSITORY.slice(CHART_REPOSITORY.indexOf('/') + 1)}`;
  const flags =
    registry === release.registry
      ? ['--plain-http']
      : ['--registry-config', path.join(homedir(), '.docker', 'config.json')];
  const helm = await helmOf(release);
  const { code, out, err } = await helm.try('push', archive, `oci://${repository}`, ...flags);
  const digest = /^Digest: (sha256:[0-9a-f]{64})$/m.exec(`${out}${err}`)?.[1];
  if (code !== 0 || digest === undefined) throw new Error(`helm push: ${err}`);
  return `${repository}/${PROJECT.name}@${digest}`;
}

/** Copies an image from the registry of this machine. @returns its reference by digest */
export async function copyImage(
  release: Release,
  image: PushedImage,
  registry: string,
): Promise<string> {
  const to = image.reference.replace(release.registry, registry);
  if (to !== image.reference) await run(await ensureTool('crane'), ['copy', image.exact, to]);
  return image.exact.replace(release.registry, registry);
}

/** Signs what a reference by digest names, and verifies the signature. */
export async function sign(reference: string, signer: Signer): Promise<void> {
  const cosign = await ensureTool('cosign');
  const { env, signing, verifying } = signer;
  await run(cosign, ['sign', ...signing, reference], { env });
  await run(cosign, ['verify', ...verifying, reference], { env });
}

/** Attaches the SBOM to the image, signed, and verifies it. */
export async function attest(reference: string, sbom: string, signer: Signer): Promise<void> {
  const cosign = await ensureTool('cosign');
  const { env, signing, verifying } = signer;
  const type = ['--type', 'spdxjson'];
  await run(cosign, ['attest', ...signing, ...type, '--predicate', sbom, reference], { env });
  await run(cosign, ['verify-attestation', ...verifying, ...type, reference], { env });
}
