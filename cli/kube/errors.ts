import { messageOf } from '../../constructs/kit/errors.js';
import {
  ApiError,
  ConnectionError,
  isForbidden,
  isUnauthorized,
} from '../../runner/api/api-error.js';
import { CliError } from '../arguments/errors.js';

/** The message of the API server without our request, as kubectl prints it; that of any other error as it is. */
export function serverMessageOf(error: unknown): string {
  const message = messageOf(error);
  return isForbidden(error) ? message.replace(/^.*?: 403 Forbidden: /, '') : message;
}

/**
 * One line for an error of the API server, with what to do; undefined for any other error.
 * @param server the address of the API server, if known
 */
export function cliErrorOf(error: unknown, server = ''): CliError | undefined {
  if (error instanceof ConnectionError) {
    // Commands send requests in parallel: which of them fails first, and so its path, says nothing.
    return new CliError(
      `cannot connect to the API server${server && ` ${server}`}: ${error.code}; check --context and --kubeconfig`,
    );
  }
  if (isUnauthorized(error)) {
    return new CliError('unauthorized: log in again, or choose another --context');
  }
  if (isForbidden(error)) return new CliError(`forbidden: ${error.message}`);
  if (error instanceof ApiError) return new CliError(error.message);
  return undefined;
}
