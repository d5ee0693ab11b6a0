import { Button } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { send } from "../api/client";
import { safeText } from "../shared/tables/csv";
import { download } from "../shared/files/download";
import { Failed } from "../shared/page/loading-states";

const FORMS = [
  { form: "csv", name: "CSV", title: "Text that a spreadsheet would take for a formula is marked as text" },
  { form: "xlsx", name: "Excel", title: "One sheet; text stays text" },
  { form: "jsonl", name: "JSON lines", title: "An object for each row" },
  { form: "parquet", name: "Parquet", title: "With the types of the columns" },
] as const;

type Form = (typeof FORMS)[number]["form"];

/** All rows of a job's table, in the form that one works with. */
export function TableDownloads({ jobId }: { jobId: string }) {
  const save = useMutation({ mutationFn: async (form: Form) => download(await contentOf(jobId, form), `result.${form}`) });
  return (
    <div className="bar" role="group" aria-label="Download the table">
      <span className="muted">Download</span>
      {FORMS.map(({ form, name, title }) => (
        <Button key={form} variant={form === "csv" ? "filled" : "default"} size="compact-sm" title={title} loading={save.isPending && save.variables === form} onClick={() => save.mutate(form)}>
          {name}
        </Button>
      ))}
      {save.error === null ? null : <Failed error={save.error} />}
    </div>
  );
}

async function contentOf(jobId: string, form: Form): Promise<Blob | string> {
  const answer = await send("GET", `/v1/jobs/${jobId}/result`, { query: { format: form }, headers: { Accept: "*/*" } });
  return form === "csv" ? safeText(await answer.text()) : answer.blob();
}
