// Converts recipe cards to Markdown. Nothing here depends on WebAssembly, so `npm test` can test it.

export const FORMATS = [{ name: "recipe card", endings: ["card"], mediaType: "text/x-recipe-card" }];

/** Reason why a file cannot be converted; it follows the file's name. */
export class NoText extends Error {}

/** Returns the text of a file, and remarks about what the text lacks. */
export function markdown(file, name, mediaType) {
  const lines = new TextDecoder().decode(file).split(/\r?\n/);
  if (!lines[0].startsWith("@title ")) throw new NoText("is not a recipe card: it does not begin with @title");
  const text = [`# ${lines[0].slice(7).trim()}`, ""];
  let unknown = 0;
  let step = 0;
  for (const line of lines.slice(1)) {
    const content = line.slice(2).trim();
    if (line.startsWith("* ")) text.push(`- ${content}`);
    else if (line.startsWith("= ")) text.push(`${++step}. ${content}`);
    else if (line.trim()) unknown++;
  }
  const losses = unknown ? [`has ${unknown} lines of an unknown kind, which are left out`] : [];
  return { text: `${text.join("\n")}\n`, losses };
}
