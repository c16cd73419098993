/** The first characters of a text, with a note of how many are left out. */
export function cutText(text: string, most: number): string {
  if (text.length <= most) return text;
  return `${text.slice(0, most).toWellFormed()}… (${text.length - most} more characters)`;
}
