import {
  ApiError,
  ConnectionError,
  isForbidden,
  isUnauthorized,
} from '../../runner/api/api-error.js';
import { CliError } from '../arguments/command.js';

/** What went wrong, in a line that says what to do; undefined for what nobody expected. */
export function cliErrorOf(error: unknown): CliError | undefined {
  if (error instanceof ConnectionError) {
    return new CliError(
      `the API server does not answer (${error.message}): is the context the right one? See --context and --kubeconfig`,
    );
  }
  if (isUnauthorized(error)) {
    return new CliError(
      'the API server does not know you (401): log in again, or choose another --context',
    );
  }
  if (isForbidden(error)) return new CliError(`you may not: ${error.message}`);
  if (error instanceof ApiError) return new CliError(error.message);
  return undefined;
}
