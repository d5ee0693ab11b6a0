import { Button, Select, TextInput } from "@mantine/core";
import { toast } from "../../shared/page/toasts";
import { useMutation } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { post, putOver, send, tagged } from "../../api/client";
import type { DetectResult, Job } from "../../api/types";
import { DetectResultView } from "../../results/detect";
import { JobSide, useWorkbenchJob } from "../../results/workbench";
import { visible } from "../../shared/code/ansi";
import { useDraft } from "../../shared/editing/draft";
import { download } from "../../shared/files/download";
import { faultsOf } from "../../shared/editing/field-errors";
import { Failed } from "../../shared/page/loading-states";
import { FileDrop, type Uploaded } from "../../shared/files/upload";
import { useTitle } from "../../shared/page/title";
import { useUrl } from "../../shared/page/url";
import { WriteButton } from "../../shared/editing/write-button";
import { Readiness } from "../../shared/page/readiness";
import { Definitions } from "./definitions";

interface Draft {
  file: Uploaded | null;
  git: string;
  ref: string;
  path: string;
  mode: "full" | "static" | "llm_only";
  root: string;
  disable: string[];
}

const START: Draft = { file: null, git: "", ref: "", path: "", mode: "full", root: "", disable: [] };
const FORMS = [
  { value: "dockerfile", label: "Dockerfile", name: "Dockerfile" },
  { value: "cyclonedx", label: "CycloneDX", name: "sbom.cdx.json" },
  { value: "universalbuild", label: "Universal build", name: "universalbuild.json" },
];

export function Page() {
  useTitle("Detect");
  const [draft, setDraft] = useDraft<Draft>("detect", START);
  const [url] = useUrl();
  const { id, show } = useWorkbenchJob("detect", (past) => {
    const input = past.input as unknown as { source: { file_id?: string; name?: string | null; git?: string; ref?: string; path?: string }; mode?: Draft["mode"]; root?: string; disable?: string[] };
    const { file_id: file, name, git = "", ref = "", path = "" } = input.source;
    setDraft({ ...START, file: file === undefined ? null : { id: file, name: name ?? "archive of the opened job", size: 0 }, git, ref, path, mode: input.mode ?? "full", root: input.root ?? "", disable: input.disable ?? [] });
  });
  const run = useMutation({
    mutationFn: (draft: Draft) => post<Job>("/v1/jobs", { kind: "detect", input: inputOf(draft) }),
    onSuccess: (job) => show(job, { before: id ?? null }),
  });
  const without = (rule: string): void => {
    const next = { ...draft, disable: [...new Set([...draft.disable, rule])] };
    setDraft(next);
    run.mutate(next);
  };
  const makeRule = useMutation({
    mutationFn: async (found: { kind: string; id: string; name: string; file: string }) => {
      const now = await tagged<{ definitions: unknown[] }>("/v1/stacks/definitions");
      const ending = /\.[^./]+$/.exec(found.file)?.[0];
      const files = [ending === undefined ? found.file.split("/").at(-1)! : `*${ending}`];
      return putOver("/v1/stacks/definitions", { definitions: [...now.value.definitions, { id: found.id, kind: found.kind, name: found.name, files }] }, now.tag);
    },
    onSuccess: () => toast({ message: "Rule added. The next detection uses it." }),
    onError: (error) => toast({ color: "red", title: "Rule not added", message: error.message }),
  });
  const faults = faultsOf(run.error, ["input.source.git", "input.source.file_id", "input.mode", "input.root", ...(draft.git === "" ? ["input.source"] : ["input.source.ref"])]);
  const given = draft.file !== null || draft.git !== "" || draft.path !== "";
  return (
    <>
      <div className="head">
        <h1>Detect</h1>
        <span className="muted">Detect the tech stack of a repository</span>
      </div>
      <Readiness kind="detect" />
      <div className="cols">
        <div className="stack">
          <FileDrop label="Add an archive (zip or tar)" many={false} error={faults.at("input.source.file_id") ?? faults.at("input.source")} files={draft.file === null ? [] : [draft.file]} onChange={(files) => setDraft({ ...draft, file: files[0] ?? null, git: "", path: "" })} />
          <TextInput label="Or a public repository" error={faults.at("input.source.git")} placeholder="https://github.com/owner/name" value={draft.git} onChange={(event) => setDraft({ ...draft, git: event.currentTarget.value, file: null })} />
          {draft.git === "" ? null : <TextInput label="Branch, tag or commit" error={faults.at("input.source.ref")} value={draft.ref} onChange={(event) => setDraft({ ...draft, ref: event.currentTarget.value })} />}
          <div className="bar">
            <Select label="Mode" error={faults.at("input.mode")} data={[{ value: "full", label: "rules, then a model" }, { value: "static", label: "rules only" }, { value: "llm_only", label: "a model only" }]} value={draft.mode} onChange={(mode) => setDraft({ ...draft, mode: mode as Draft["mode"] })} w={170} />
            <TextInput label="Folder" error={faults.at("input.root")} placeholder="apps/api" value={draft.root} onChange={(event) => setDraft({ ...draft, root: event.currentTarget.value })} />
          </div>
          {draft.disable.map((rule) => (
            <span key={rule} className="bar">
              without <code>{visible(rule)}</code>
              <button type="button" className="link" onClick={() => setDraft({ ...draft, disable: draft.disable.filter((each) => each !== rule) })}>
                Enable
              </button>
            </span>
          ))}
          <span>
            <WriteButton loading={run.isPending} disabled={!given} onClick={() => run.mutate(draft)}>
              Detect
            </WriteButton>
          </span>
          {run.error === null ? null : <Failed error={run.error} faults={faults} />}
          <Definitions />
        </div>
        <JobSide id={id} kind="detect" empty="Services, their technologies and the evidence for each will appear here" hint="Rules alone need no model; every source opens its file at the line.">
          {(job) =>
            job.result ? (
              <>
                <div className="bar">
                  <Forms id={job.id} />
                  {url.before === undefined ? null : (
                    <Link to="/compare" search={{ a: url.before, b: job.id } as never} className="plain">
                      Compare with the previous run
                    </Link>
                  )}
                </div>
                <DetectResultView jobId={job.id} result={job.result as unknown as DetectResult} onDisable={without} onRule={(found) => makeRule.mutate(found)} />
              </>
            ) : null
          }
        </JobSide>
      </div>
    </>
  );
}

function inputOf({ file, git, ref, path, mode, root, disable }: Draft): Record<string, unknown> {
  const source = file !== null ? { file_id: file.id, name: file.name.slice(0, 200) } : git !== "" ? { git, ...(ref === "" ? {} : { ref }) } : { path };
  return { source, mode, root, disable };
}

function Forms({ id }: { id: string }) {
  const save = async (form: string, name: string): Promise<void> => {
    const answer = await send("GET", `/v1/jobs/${id}/result`, { query: { format: form }, headers: { Accept: "*/*" } });
    download(await answer.blob(), name);
  };
  return (
    <div className="bar">
      {FORMS.map((form) => (
        <Button key={form.value} variant="default" onClick={() => void save(form.value, form.name).catch((error: Error) => toast({ color: "red", message: error.message }))}>
          {form.label}
        </Button>
      ))}
    </div>
  );
}
