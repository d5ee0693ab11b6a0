/** A model's answer without the tags that the prompt requires: what it says, or nothing when that is a list of calls. */
export function answerText(content: string): string {
  const inside = /<response>([\s\S]*?)(?:<\/response>|$)/.exec(content)?.[1];
  const text = (inside ?? content.replace(/<thinking>[\s\S]*?(?:<\/thinking>|$)/g, "")).trim();
  return /^[[{]/.test(text) ? "" : text;
}
