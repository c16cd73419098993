import path from 'node:path';
import { projectRoot } from './project-root.js';

/** Path of a file of the testbed that is not code, such as a Go module. */
export function ownFile(...segments: string[]): string {
  return path.join(projectRoot(), 'testbed', ...segments);
}
