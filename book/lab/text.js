// Texts of the reader's own, read by the rule of `as_text` in babygpt/data/corpus.py; one table tests both.

// Return the bytes of a file as a text, with "\n" at the end of each line. Raises an error that names the
// fault.
function asText(bytes, name) {
  let text;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes).replace(/^\uFEFF+/, "");
  } catch {
    throw new Error(`${name} is not UTF-8 text: byte ${firstFault(bytes)} cannot be read`);
  }
  const letters = [...text], nul = letters.indexOf("\0");
  if (nul >= 0) {
    throw new Error(
      `${name} is not UTF-8 text: character ${nul} is NUL, as in UTF-16 or a binary file; save it as UTF-8`,
    );
  }
  return text.replace(/\r\n?/g, "\n");
}

// Return where the first byte stands that belongs to no character: the longest readable beginning ends before
// it.
function firstFault(bytes) {
  const readable = length => {
    try {
      return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes.subarray(0, length), {
        stream: true,
      });
    } catch {
      return null;
    }
  };
  let [low, high] = [0, bytes.length]; // a decoder that waits for more bytes reads an unfinished character
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    [low, high] = readable(middle) === null ? [low, middle - 1] : [middle, high];
  }
  return new TextEncoder().encode(readable(low)).length;
}
