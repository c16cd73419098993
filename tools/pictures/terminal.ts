/** Draws the text of a terminal as SVG: a dark screen, legible on light and on dark pages. */

const FONT_SIZE = 14;
/** Advance of the common monospaced fonts, rounded up, so that words never overlap. */
const COLUMN = 8.5;
const LINE = 20;
const MARGIN = 16;
const BACKGROUND = '#0d1117';
const FONT = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace";
const PLAIN = '#e6edf3';
/** By the number of the escape sequence (SGR); dim text is grey. */
const COLOURS: Readonly<Record<string, string>> = {
  2: '#9ea7b3',
  31: '#ff8a80',
  32: '#7ee787',
  33: '#e3b341',
  36: '#79c0ff',
};

interface Word {
  readonly text: string;
  readonly column: number;
  readonly colour: string;
  readonly bold: boolean;
}

/** @param metadata what the picture was made of, as `metadataIn` returns it */
export function terminalSvg(lines: readonly string[], columns: number, metadata: string): string {
  const [width, height] = [columns * COLUMN + 2 * MARGIN, lines.length * LINE + 2 * MARGIN];
  const texts = lines.map((line, row) => {
    const y = MARGIN + (row + 0.75) * LINE;
    return `<text y="${y}">${wordsOf(line).map(spanOf).join('')}</text>`;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}">`,
    `<metadata>${escaped(metadata)}</metadata>`,
    `<rect width="100%" height="100%" rx="8" fill="${BACKGROUND}"/>`,
    `<g font-family="${FONT}" font-size="${FONT_SIZE}">`,
    ...texts,
    '</g>',
    '</svg>\n',
  ].join('\n');
}

/** What the picture was made of. @throws Error where it has none */
export function metadataIn(svg: string): string {
  const text = /<metadata>([^<]*)<\/metadata>/.exec(svg)?.[1];
  if (text === undefined) throw new Error('the picture has no metadata');
  return text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');
}

/** Each word begins at its own column, whatever the font: spaces are not drawn. */
function wordsOf(line: string): readonly Word[] {
  const words: Word[] = [];
  let [column, colour, bold] = [0, PLAIN, false];
  // eslint-disable-next-line no-control-regex -- escape sequences of colours begin with one
  for (const [token, sequence] of line.matchAll(/\x1b\[(\d+)m|\s+|[^\s\x1b]+/g)) {
    if (sequence === undefined) {
      if (token.trim() !== '') words.push({ text: token, column, colour, bold });
      column += Array.from(token).length;
    } else if (sequence === '1') bold = true;
    else if (sequence === '22' || sequence === '39') [colour, bold] = [PLAIN, false];
    else colour = COLOURS[sequence] ?? PLAIN;
  }
  return words;
}

function spanOf({ text, column, colour, bold }: Word): string {
  const weight = bold ? ' font-weight="bold"' : '';
  return `<tspan x="${MARGIN + column * COLUMN}" fill="${colour}"${weight}>${escaped(text)}</tspan>`;
}

/** Text as SVG has it. */
export function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
