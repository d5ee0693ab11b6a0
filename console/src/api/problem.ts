/** A refusal of the server (RFC 9457), or of the network (`status` 0). */
export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    readonly title: string,
    readonly detail: string,
    readonly requestId: string | null,
    readonly fields: readonly { loc: (string | number)[]; msg: string }[] = [],
    readonly document: Readonly<Record<string, unknown>> = {},
  ) {
    super(detail || title);
  }
}

export async function problemOf(answer: Response): Promise<Problem> {
  const request = answer.headers.get("x-request-id");
  try {
    const body = (await answer.json()) as Record<string, unknown>;
    const fields = Array.isArray(body.errors) ? (body.errors as Problem["fields"]) : [];
    return new Problem(answer.status, text(body.code), text(body.title), text(body.detail), request, fields, body);
  } catch {
    return new Problem(answer.status, "no_problem", `The server answered ${answer.status}`, "", request);
  }
}

export function unreachable(): Problem {
  return new Problem(0, "unreachable", "The server does not answer", "It may be restarting; this page tries again.", null);
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}
