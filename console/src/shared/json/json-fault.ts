/** What is wrong with a text as JSON; null when nothing is. */
export function jsonFault(text: string): string | null {
  try {
    JSON.parse(text);
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}
