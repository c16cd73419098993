import path from 'node:path';
import { projectRoot } from '../project-root.js';

/** Path of a file of this tool that is not code, such as a Go module. */
export function asset(...segments: string[]): string {
  return path.join(projectRoot(), 'testbed', 'controlplane', ...segments);
}
