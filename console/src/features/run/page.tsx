import { Select } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { SquareTerminal } from "lucide-react";
import { useEffect } from "react";
import { post } from "../../api/client";
import { jobQuery } from "../../api/queries";
import type { ExecuteResult, Job } from "../../api/types";
import { ResultView } from "../../results";
import { FollowedJob } from "../../results/followed-job";
import { RecentJobs } from "../../results/recent-jobs";
import { useDraft } from "../../shared/editing/draft";
import { CodeEditor } from "../../shared/code/editor";
import { faultsOf } from "../../shared/editing/field-errors";
import { Empty, Failed } from "../../shared/page/loading-states";
import { FileDrop, type Uploaded } from "../../shared/files/upload";
import { useTitle } from "../../shared/page/title";
import { useUrl } from "../../shared/page/url";
import { Diff } from "../../shared/code/code";
import { RunKeys, runKey } from "../../shared/editing/run-key";
import { WriteButton } from "../../shared/editing/write-button";
import { Readiness, useCapabilities } from "../../shared/page/readiness";
import { NumberInput } from "../../shared/editing/number-input";

const START = { python: "import sys\n\nprint(sys.version)\nsum(n * n for n in range(10))\n", r: "summary(c(1, 2, 3))\n", javascript: "console.log(process.version)\n[1, 2, 3].map((n) => n * n)\n", sql: "SELECT 6 * 7 AS answer\n" };
type Language = keyof typeof START;

interface Draft {
  language: Language;
  code: string;
  files: Uploaded[];
  seconds: number;
  memory: number;
}

const FIELDS = ["input.language", "input.code", "input.files", "input.limits.wall_seconds", "input.limits.memory_mb"];

export function Page() {
  useTitle("Run code");
  const [url, change] = useUrl();
  const [draft, setDraft] = useDraft<Draft>("run", { language: "python", code: START.python, files: [], seconds: 10, memory: 512 });
  const capabilities = useCapabilities();
  const past = useQuery({ ...jobQuery(url.job ?? ""), enabled: url.job !== undefined });
  const input = past.data?.kind === "execute" ? past.data.input : undefined;
  useEffect(() => {
    if (input !== undefined && input !== null) setDraft((now) => draftOf(input as unknown as Input, now));
  }, [input, setDraft]);
  const run = useMutation({
    mutationFn: () =>
      post<Job>("/v1/jobs", {
        kind: "execute",
        input: {
          language: draft.language,
          code: draft.code,
          files: draft.files.map((file) => ({ id: file.id, path: file.name })),
          limits: { wall_seconds: draft.seconds, memory_mb: draft.memory },
        },
      }),
    onSuccess: (job) => change({ job: job.id, before: url.job ?? null }),
  });
  const faults = faultsOf(run.error, FIELDS);
  const languages = Object.entries(capabilities.data?.languages ?? { python: { available: true } });
  return (
    <>
      <div className="head">
        <div className="title">
          <h1>Run code</h1>
          <p>In the sandbox, without a model</p>
        </div>
      </div>
      <Readiness kind="execute" />
      <div className="cols even">
        <div className="stack stay" onKeyDownCapture={runKey(() => run.mutate(), draft.code.trim() !== "" && !run.isPending)}>
          <div className="bar">
            <Select
              aria-label="Language"
              error={faults.at("input.language")}
              data={languages.map(([value, { available }]) => ({ value, label: available ? value : `${value} (not installed)`, disabled: !available }))}
              value={draft.language}
              onChange={(value) => value !== null && setDraft({ ...draft, language: value as Language, code: Object.values(START).includes(draft.code) ? START[value as Language] : draft.code })}
              w={140}
            />
            <NumberInput aria-label="Timeout (s)" error={faults.at("input.limits.wall_seconds")} suffix=" s" min={1} max={300} value={draft.seconds} onChange={(seconds) => setDraft({ ...draft, seconds: Number(seconds) })} w={90} />
            <NumberInput aria-label="Memory limit" error={faults.at("input.limits.memory_mb")} suffix=" MB" min={16} max={4096} value={draft.memory} onChange={(memory) => setDraft({ ...draft, memory: Number(memory) })} w={100} />
            <WriteButton loading={run.isPending} disabled={draft.code.trim() === ""} rightSection={<RunKeys />} onClick={() => run.mutate()}>
              Run
            </WriteButton>
          </div>
          <CodeEditor label="Code" language={draft.language} value={draft.code} onChange={(code) => setDraft((now) => ({ ...now, code }))} minHeight={420} error={faults.at("input.code")} />
          <FileDrop label="Add files" preview error={faults.at("input.files")} files={draft.files} onChange={(files) => setDraft({ ...draft, files })} />
          {run.error === null ? null : <Failed error={run.error} faults={faults} />}
        </div>
        <div className="stack">
          {url.job === undefined ? (
            <>
              <Empty title="Output will appear here" icon={SquareTerminal}>
                The verdict of the run, the value of the last expression, what the code prints and draws, and the files that it writes.
              </Empty>
              <RecentJobs kind="execute" />
            </>
          ) : (
            <FollowedJob id={url.job}>
              {(job) => (
                <>
                  {job.result ? <ResultView job={job} /> : null}
                  {job.result && url.before !== undefined ? <Difference id={url.before} now={job} /> : null}
                </>
              )}
            </FollowedJob>
          )}
        </div>
      </div>
    </>
  );
}

interface Input {
  language: Language;
  code: string;
  files?: { id: string; path: string }[];
  limits?: { wall_seconds?: number; memory_mb?: number };
}

/** What a past job was given: without its files and limits it would not run again as it did. */
function draftOf({ language, code, files = [], limits = {} }: Input, now: Draft): Draft {
  const kept = new Map(now.files.map((file) => [file.id, file]));
  const given = files.map(({ id, path }) => kept.get(id) ?? { id, name: path, size: 0 });
  return { language, code, files: given, seconds: limits.wall_seconds ?? now.seconds, memory: limits.memory_mb ?? now.memory };
}

/** What this run prints that the last one did not. */
function Difference({ id, now }: { id: string; now: Job }) {
  const before = useQuery(jobQuery(id)).data?.result as ExecuteResult | null | undefined;
  const result = now.result as unknown as ExecuteResult;
  const text = (each: ExecuteResult): string => `${each.stdout}${each.value?.text ?? ""}`;
  if (!before || text(before) === text(result)) return null;
  return (
    <section className="panel">
      <h3>Changes since the last run</h3>
      <Diff before={text(before)} after={text(result)} />
    </section>
  );
}
