// A named import that an old Node.js lacks would end the process before its version is checked.
import util from 'node:util';

/** Whether the file system reports an error: a missing file, a full disk. */
export function isFileError(error: unknown): error is NodeJS.ErrnoException {
  const { code, errno, syscall } = error as NodeJS.ErrnoException;
  return typeof code === 'string' && typeof errno === 'number' && FILE_CALLS.has(syscall ?? '');
}

const FILE_CALLS = new Set(['open', 'read', 'write', 'stat', 'lstat', 'scandir', 'close']);

/** Why a file cannot be read or written: `no space left on device (ENOSPC)`. */
export function fileErrorReason(error: unknown): string {
  const { code, errno, message } = error as NodeJS.ErrnoException;
  if (code === undefined || errno === undefined) return message;
  return code === 'ENOENT'
    ? 'no such file or directory'
    : `${util.getSystemErrorMessage(errno)} (${code})`;
}
