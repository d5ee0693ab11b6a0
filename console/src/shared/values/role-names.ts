/** What a role is for, as a person says it. */
export const ROLE_NAMES: Readonly<Record<string, string>> = {
  "execution.transform": "Transform",
  "documents.instruction": "Document prompts",
  "documents.generate": "Document code",
  "search.plan": "Search: write queries",
  "search.reflect": "Search: rewrite queries",
  "search.answer": "Search: write the answer",
  "search.evaluate": "Search: check the answer",
  "flows.edit": "Edit flows",
  "stacks.identify": "Detect: name the stack",
};
