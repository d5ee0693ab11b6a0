import { Button, Menu } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { post, Problem } from "../../api/client";
import { TERMINAL, type Job } from "../../api/types";
import { WORKBENCHES } from "../../app/places";
import { download } from "../../shared/json";
import { WriteButton } from "../../shared/write";
import { copy } from "./keys";

/** What can be done with the job; what needs a scope that one has not is shown and says so. */
export function Actions({ job, onReplay, onCase }: { job: Job; onReplay: () => void; onCase: () => void }) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const fault = (error: unknown): void => {
    notifications.show({ color: "red", title: error instanceof Problem ? error.title : "It failed", message: String((error as Error).message) });
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
  return (
    <div className="bar">
      {TERMINAL.has(job.state) ? null : (
        <WriteButton color="red" variant="light" loading={cancel.isPending} onClick={() => cancel.mutate()}>
          Cancel
        </WriteButton>
      )}
      {workbench === undefined ? null : (
        <Button component={Link} to={workbench} search={{ job: job.id } as never} variant="default">
          Open in the workbench
        </Button>
      )}
      {flow === undefined ? null : (
        <Button component={Link} to="/flows/$id" params={{ id: flow } as never} variant="default">
          Open the flow
        </Button>
      )}
      <WriteButton variant="default" loading={retry.isPending} onClick={() => retry.mutate()}>
        Run again
      </WriteButton>
      <WriteButton variant="default" onClick={onReplay}>
        Replay…
      </WriteButton>
      <Menu transitionProps={{ duration: 0 }} position="bottom-end">
        <Menu.Target>
          <Button variant="default" data-actions>
            More
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          {TERMINAL.has(job.state) ? <Menu.Item onClick={onCase}>Make this a case…</Menu.Item> : null}
          <Menu.Item component={Link} to="/jobs" search={{ replayed_from: job.id } as never}>
            Its replays
          </Menu.Item>
          <Menu.Item onClick={() => copy(job.id)}>Copy the id</Menu.Item>
          <Menu.Item onClick={() => copy(curl(job))}>Copy as curl</Menu.Item>
          <Menu.Item onClick={() => copy(python(job))}>Copy as Python</Menu.Item>
          <Menu.Item onClick={() => copy(`assay jobs replay ${job.id}`)}>Copy as command</Menu.Item>
          <Menu.Item onClick={() => download(JSON.stringify(job, null, 2), `job-${job.id}.json`)}>Download the job</Menu.Item>
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
