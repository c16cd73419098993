import {
  ApiError,
  ConnectionError,
  isForbidden,
  isUnauthorized,
} from '../../runner/api/api-error.js';
import { CliError } from '../arguments/errors.js';

/** One line for an error of the API server, with what to do; undefined for any other error. */
export function cliErrorOf(error: unknown): CliError | undefined {
  if (error instanceof ConnectionError) {
    return new CliError(
      `cannot connect to the API server: ${error.message}; check --context and --kubeconfig`,
    );
  }
  if (isUnauthorized(error)) {
    return new CliError('unauthorized: log in again, or choose another --context');
  }
  if (isForbidden(error)) return new CliError(`forbidden: ${error.message}`);
  if (error instanceof ApiError) return new CliError(error.message);
  return undefined;
}
