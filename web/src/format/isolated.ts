// Names inside of sentences: others choose them, and their direction must not turn the sentence round. Elements are isolated by
// `bdi` or the class `name`; this is for plain text, such as titles and labels.
const [FIRST_STRONG_ISOLATE, POP_ISOLATE] = ['\u2068', '\u2069']

// Hebrew, Arabic and the other scripts that are written from right to left.
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u

// Most names need nothing, and stay what can be copied.
export function isolated(name: string): string {
  const plain = withoutControls(name)
  return RIGHT_TO_LEFT.test(plain) ? `${FIRST_STRONG_ISOLATE}${plain}${POP_ISOLATE}` : plain
}

// What changes the direction of the text after it is shown as a replacement character.
export function withoutControls(text: string): string {
  return text.replace(/[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu, '\ufffd')
}
