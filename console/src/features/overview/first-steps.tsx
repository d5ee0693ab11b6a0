import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Play } from "lucide-react";
import { post } from "../../api/client";
import type { Capabilities, Job } from "../../api/types";
import { Code } from "../../shared/code/code";
import { WriteButton } from "../../shared/editing/write-button";
import { Failed } from "../../shared/page/loading-states";
import { Icon } from "../../shared/values/icon";
import { Tag } from "../../shared/values/marks";

/** They work as they are; those that need a model are answered by the demo model where there is one. */
const EXAMPLES = [
  { name: "Run Python in the sandbox", body: { kind: "execute", input: { language: "python", code: "print(6 * 7)" } } },
  {
    name: "Have a model transform a table",
    body: { kind: "transform", input: { task: "Total amount by region, largest first", data: [{ name: "data", csv: "region,amount\nnorth,2\nsouth,3\nnorth,4\n" }], assertions: ["rows == 2"] } },
  },
  { name: "Run the code of a document", body: { kind: "document", input: { markdown: "# First document\n\n```python exec\nprint(6 * 7)\n```\n" } } },
] as const;

/** While there are hardly any jobs: what works already, what to do next, and the same from the command line. */
export function FirstSteps({ capabilities, none }: { capabilities: Capabilities | undefined; none: boolean }) {
  const navigate = useNavigate();
  const run = useMutation({
    mutationFn: (body: unknown) => post<Job>("/v1/jobs", body),
    onSuccess: (job) => navigate({ to: "/jobs/$id", params: { id: job.id } }),
  });
  const needsProvider = Object.values(capabilities?.kinds ?? {}).some(({ state }) => state === "needs_provider");
  return (
    <section className="panel" aria-label="Get started with Assay">
      <div className="cols even">
        <div className="stack">
          <h2>Get started with Assay</h2>
          <p className="muted">{none ? "No jobs yet. Try an example." : "Three steps, about two minutes."}</p>
          {run.error === null ? null : <Failed error={run.error} />}
          <ol className="steps">
            <li className="done">
              <div>
                <b>Server is running</b>
                <p className="muted">{capabilities === undefined ? "" : languageWords(capabilities)}</p>
              </div>
            </li>
            <li className="now">
              <div className="tight">
                <b>Run your first job</b>
                {EXAMPLES.map(({ name, body }) => {
                  const state = capabilities?.kinds[body.kind]?.state;
                  return (
                    <span key={name} className="bar">
                      <WriteButton variant={body.kind === "execute" ? "filled" : "default"} leftSection={<Icon of={Play} />} disabled={state === "no_worker" || run.isPending} onClick={() => run.mutate(body)}>
                        {name}
                      </WriteButton>
                      {state === "needs_provider" ? <Tag tone="warn">Needs a model provider</Tag> : null}
                    </span>
                  );
                })}
              </div>
            </li>
            <li className={needsProvider ? undefined : "done"}>
              <div>
                <b>Add a provider key</b>
                <p className="muted">
                  {needsProvider ? (
                    <>
                      Set <code>GROQ_API_KEY</code> or another provider’s key on the server, then restart it.
                    </>
                  ) : (
                    "A model provider answers."
                  )}
                </p>
              </div>
            </li>
          </ol>
        </div>
        <div className="tight">
          <h3>Or from the command line</h3>
          <Code text={curl()} />
          <p className="muted small">Set ASSAY_API_KEY to your key. The job appears under Jobs within a second.</p>
        </div>
      </div>
    </section>
  );
}

function curl(): string {
  return [
    `curl -s ${location.origin}/v1/jobs \\`,
    `  -H "Authorization: Bearer $ASSAY_API_KEY" \\`,
    `  -H "Content-Type: application/json" \\`,
    `  -d '{"kind": "execute",`,
    `       "input": {"language": "python",`,
    `                 "code": "print(6 * 7)"}}'`,
  ].join("\n");
}

const NAMES: Readonly<Record<string, string>> = { python: "Python", r: "R", javascript: "JavaScript", sql: "SQL" };

export function languageWords({ languages }: Pick<Capabilities, "languages">): string {
  return Object.entries(languages)
    .map(([name, { available, version }]) => `${NAMES[name] ?? name} ${available ? (version ?? "") : "not installed"}`.trim())
    .join(" · ");
}
