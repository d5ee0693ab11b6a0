import { Menu } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { CircleSlash, Copy, ExternalLink, RotateCcw, SquareCheck } from "lucide-react";
import { post } from "../../api/client";
import { TERMINAL, type Job } from "../../api/types";
import { nameOfPlace, WORKBENCHES } from "../../app/navigation";
import { useSession } from "../../app/shell";
import { copy } from "../../shared/page/copy";
import { toast } from "../../shared/page/toasts";
import { Icon } from "../../shared/values/icon";

interface Props {
  job: Job;
  button: HTMLElement;
  onSelect: () => void;
  onClose: () => void;
}

/** What can be done with one job of the list: one menu for all rows, below the button that opened it. */
export function JobMenu({ job, button, onSelect, onClose }: Props) {
  const navigate = useNavigate();
  const client = useQueryClient();
  const mayWrite = useSession()?.scopes.includes("write") ?? false;
  const write = useMutation({
    mutationFn: (verb: "cancel" | "replay") => post<Job>(`/v1/jobs/${job.id}/${verb}`, verb === "replay" ? {} : undefined),
    onSuccess: (made, verb) => {
      void client.invalidateQueries({ queryKey: ["jobs"] });
      toast({ message: verb === "replay" ? `Retried as ${made.id}` : "Canceled" });
    },
    onError: (error) => toast({ color: "red", message: error.message }),
  });
  const { bottom, right } = button.getBoundingClientRect();
  const workbench = WORKBENCHES[job.kind];
  const close = (): void => {
    onClose();
    button.focus();
  };
  return (
    <Menu opened onChange={(opened) => (opened ? undefined : close())} position="bottom-end" transitionProps={{ duration: 0 }}>
      <Menu.Target>
        <button type="button" tabIndex={-1} aria-label="Actions" style={{ position: "fixed", top: bottom, left: right, width: 0, height: 0, padding: 0, border: 0 }} />
      </Menu.Target>
      <Menu.Dropdown aria-label="Actions">
        <Menu.Item leftSection={<Icon of={ExternalLink} />} onClick={() => window.open(`/jobs/${job.id}`, "_blank", "noopener")}>
          Open in new tab
        </Menu.Item>
        {workbench === undefined ? null : (
          <Menu.Item onClick={() => void navigate({ to: workbench as "/", search: { job: job.id } as never })}>Open in {nameOfPlace(workbench)}</Menu.Item>
        )}
        <Menu.Item leftSection={<Icon of={SquareCheck} />} onClick={onSelect}>
          Select
        </Menu.Item>
        <Menu.Item leftSection={<Icon of={Copy} />} onClick={() => copy(job.id)}>
          Copy ID
        </Menu.Item>
        <Menu.Divider />
        <Menu.Item leftSection={<Icon of={RotateCcw} />} disabled={!mayWrite} onClick={() => write.mutate("replay")}>
          Retry
        </Menu.Item>
        <Menu.Item disabled={!mayWrite} onClick={() => void navigate({ to: "/jobs/$id", params: { id: job.id }, search: { replay: "1" } as never })}>
          Retry with changes…
        </Menu.Item>
        {TERMINAL.has(job.state) ? null : (
          <Menu.Item color="red" leftSection={<Icon of={CircleSlash} />} disabled={!mayWrite} onClick={() => write.mutate("cancel")}>
            Cancel
          </Menu.Item>
        )}
      </Menu.Dropdown>
    </Menu>
  );
}
