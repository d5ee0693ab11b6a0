import { Button, Menu } from "@mantine/core";
import { toast } from "../../shared/page/toasts";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { RotateCcw } from "lucide-react";
import { post, Problem } from "../../api/client";
import { TERMINAL, type Job } from "../../api/types";
import { useActions, type Action } from "../../app/actions";
import { nameOfPlace, WORKBENCHES } from "../../app/navigation";
import { Icon } from "../../shared/values/icon";
import { download } from "../../shared/files/download";
import { WriteButton } from "../../shared/editing/write-button";
import { copy } from "../../shared/page/copy";

/** What can be done with the job; what needs a scope that one has not is shown and says so. */
export function Actions({ job, onReplay, onCase }: { job: Job; onReplay: () => void; onCase: () => void }) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const fault = (error: unknown): void => {
    toast({ color: "red", title: error instanceof Problem ? error.title : "It failed", message: String((error as Error).message) });
  };
  const cancel = useMutation({
    mutationFn: () => post<Job>(`/v1/jobs/${job.id}/cancel`),
    onSuccess: () => client.invalidateQueries({ queryKey: ["job", job.id] }),
    onError: fault,
  });
  const retry = useMutation({
    mutationFn: () => post<Job>(`/v1/jobs/${job.id}/replay`, {}),
    onSuccess: (made) => navigate({ to: "/jobs/$id", params: { id: made.id }, search: {} }),
    onError: fault,
  });
  const flow = job.kind === "flow" ? (job.input as { flow_id?: string } | null)?.flow_id : undefined;
  const workbench = WORKBENCHES[job.kind];
  const ended = TERMINAL.has(job.state);
  // The same in the menu and in the palette.
  const more: Action[] = [
    ...(ended ? [{ name: "Add to evaluation…", go: onCase }] : []),
    { name: "View retries", go: () => void navigate({ to: "/jobs", search: { replayed_from: job.id } as never }) },
    { name: "Copy ID", hint: "c", go: () => copy(job.id) },
    { name: "Copy as curl", go: () => copy(curl(job)) },
    { name: "Copy as Python", go: () => copy(python(job)) },
    { name: "Copy as CLI", go: () => copy(`assay jobs replay ${job.id}`) },
    { name: "Download job (JSON)", go: () => download(JSON.stringify(job, null, 2), `job-${job.id}.json`) },
  ];
  useActions(more);
  return (
    <div className="bar">
      {ended ? null : (
        <WriteButton color="red" variant="light" loading={cancel.isPending} onClick={() => cancel.mutate()}>
          Cancel
        </WriteButton>
      )}
      {workbench === undefined ? null : (
        <Button component={Link} to={workbench} search={{ job: job.id } as never} variant="default">
          Open in {nameOfPlace(workbench)}
        </Button>
      )}
      {flow === undefined ? null : (
        <Button component={Link} to="/flows/$id" params={{ id: flow } as never} variant="default">
          Open flow
        </Button>
      )}
      <WriteButton variant="default" leftSection={<Icon of={RotateCcw} />} loading={retry.isPending} onClick={() => retry.mutate()}>
        Retry
      </WriteButton>
      <WriteButton variant="default" onClick={onReplay}>
        Retry with changes…
      </WriteButton>
      <Menu transitionProps={{ duration: 0 }} position="bottom-end">
        <Menu.Target>
          <Button variant="default" data-actions>
            More
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          {more.map(({ name, go }) => (
            <Menu.Item key={name} onClick={go}>
              {name}
            </Menu.Item>
          ))}
        </Menu.Dropdown>
      </Menu>
    </div>
  );
}

function body(job: Job): string {
  return JSON.stringify({ kind: job.kind, input: job.input }, null, 2);
}

function curl(job: Job): string {
  const quoted = body(job).replaceAll("'", "'\\''");
  return `curl -s ${location.origin}/v1/jobs -H "Authorization: Bearer $ASSAY_API_KEY" -H 'Content-Type: application/json' -H 'Prefer: wait=60' -d '${quoted}'`;
}

function python(job: Job): string {
  const input = JSON.stringify(JSON.stringify(job.input ?? {}));
  return `import json\nfrom assay import Client\n\nwith Client("${location.origin}") as client:\n    job = client.jobs.create("${job.kind}", json.loads(${input}))\n    print(job.wait())\n`;
}
