/**
 * Runs after `npm ci` in a clone. It switches off the upgrade check of cdk8s-cli, which `npx cdk8s synth`
 * runs before it reads any file: without a network it prints a stack trace. The variable is the command's
 * own, and one that is set wins.
 */
import { readFileSync, writeFileSync } from 'node:fs';

const FILE = new URL('../../node_modules/cdk8s-cli/bin/cdk8s', import.meta.url);
const LINE = `process.env.CDK8S_CHECK_UPGRADE ??= 'false'; // tools/prepare`;

/** The program with the line after its first, once. */
export function withoutUpgradeCheck(program: string): string {
  if (program.includes(LINE)) return program;
  return program.replace('\n', `\n${LINE}\n`);
}

if (import.meta.main) {
  try {
    const program = readFileSync(FILE, 'utf8');
    const patched = withoutUpgradeCheck(program);
    if (patched !== program) writeFileSync(FILE, patched);
  } catch (error) {
    // Without development dependencies there is no cdk8s-cli.
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}
