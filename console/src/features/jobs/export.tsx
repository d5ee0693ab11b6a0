import { Button, Menu } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { Download } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import type { Query } from "../../api/client";
import { download } from "../../shared/files/download";
import { Icon } from "../../shared/values/icon";
import { count } from "../../shared/values/numbers";
import { Failed } from "../../shared/page/loading-states";
import { csvOf, everything } from "./fetch-all";

/** Saves the whole list as it is filtered, not only what was scrolled to. */
export function Export({ filter }: { filter: Query }) {
  const [jobs, setJobs] = useState(0);
  const stop = useRef<AbortController | null>(null);
  useEffect(() => () => stop.current?.abort(), []);
  const save = useMutation({
    mutationFn: async (form: "csv" | "json") => {
      setJobs(0);
      stop.current = new AbortController();
      const all = await everything(filter, stop.current.signal, setJobs);
      download(form === "csv" ? csvOf(all.jobs) : JSON.stringify(all.jobs, null, 2), `jobs.${form}`);
      return all;
    },
  });
  const stopped = save.error?.name === "AbortError";
  return (
    <>
      {save.isPending ? (
        <>
          <span role="status">{count(jobs)} jobs so far</span>
          <Button variant="default" onClick={() => stop.current?.abort()}>
            Stop
          </Button>
        </>
      ) : (
        <Menu>
          <Menu.Target>
            <Button variant="default" leftSection={<Icon of={Download} />}>
              Export
            </Button>
          </Menu.Target>
          <Menu.Dropdown>
            {(["csv", "json"] as const).map((form) => (
              <Menu.Item key={form} title="All jobs of this list, the newest 20,000 at most" onClick={() => save.mutate(form)}>
                Export {form.toUpperCase()}
              </Menu.Item>
            ))}
          </Menu.Dropdown>
        </Menu>
      )}
      {save.isSuccess ? (
        <span role="status" className={save.data.cut ? "warn" : "muted"}>
          {count(save.data.jobs.length)} jobs saved{save.data.cut ? "; older ones were left out: a shorter time has them all" : ""}
        </span>
      ) : null}
      {stopped ? <span role="status">Stopped, nothing was saved</span> : null}
      {save.error === null || stopped ? null : <Failed error={save.error} />}
    </>
  );
}
