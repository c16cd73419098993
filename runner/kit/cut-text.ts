/** The first characters of a text, with a note of how many are left out. */
export function cutText(text: string, most: number): string {
  if (text.length <= most) return text;
  return `${text.slice(0, most).toWellFormed()}… (${text.length - most} more characters)`;
}

const ELLIPSIS = '…';

/** The beginning of a text that fits into a number of bytes in UTF-8. No character is cut. */
export function cutBytes(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= maxBytes) return text.toWellFormed();
  const kept = bytes.subarray(0, maxBytes - Buffer.byteLength(ELLIPSIS));
  // A stream waits for the rest of its last character.
  return `${new TextDecoder().decode(kept, { stream: true })}${ELLIPSIS}`;
}
