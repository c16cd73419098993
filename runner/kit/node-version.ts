/**
 * The oldest Node.js release that runs the entry points, because undici 8 needs it. `engines` of
 * package.json and the documentation state the same release; a test compares them.
 */
export const MINIMUM_NODE = '22.19';

/** What is wrong with a release of Node.js, such as `20.11.1`; undefined for a supported one. */
export function nodeVersionProblem(version: string): string | undefined {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [leastMajor = 0, leastMinor = 0] = MINIMUM_NODE.split('.').map(Number);
  if (major > leastMajor || (major === leastMajor && minor >= leastMinor)) return undefined;
  return `app-operator: Node.js ${version} is too old; install Node.js ${MINIMUM_NODE} or newer: https://nodejs.org/en/download`;
}
