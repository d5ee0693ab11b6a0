import { Button } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { get, post } from "../../api/client";
import type { ChangeSet, FlowView, Page } from "../../api/types";
import { visible } from "../../shared/ansi";
import { Failed, Loaded } from "../../shared/states";
import { When } from "../../shared/time";
import { WriteButton } from "../../shared/write";

interface Props {
  flow: FlowView;
  chosen: number | null;
  onChoose: (version: number | null) => void;
  onRestored: () => void;
}

/** Every version with its sentence; the slider runs through them like a film, each with what it changed. */
export function History({ flow, chosen, onChoose, onRestored }: Props) {
  const query = useQuery({ queryKey: ["flow-history", flow.id, flow.version], queryFn: () => get<Page<ChangeSet>>(`/v1/flows/${flow.id}/history`, { limit: 200 }), placeholderData: (before) => before });
  const restore = useMutation({
    mutationFn: (version: number) => post(`/v1/flows/${flow.id}/versions/${version}/restore`),
    onSuccess: () => {
      onChoose(null);
      onRestored();
    },
  });
  return (
    <section className="panel stack" aria-label="History">
      <label className="bar">
        Version
        <input type="range" min={1} max={flow.version} value={chosen ?? flow.version} onChange={(event) => onChoose(Number(event.currentTarget.value))} style={{ flex: 1 }} />
        <span className="mono">
          {chosen ?? flow.version} of {flow.version}
        </span>
      </label>
      {chosen === null ? null : (
        <span className="bar">
          <WriteButton loading={restore.isPending} onClick={() => restore.mutate(chosen)}>
            Restore version {chosen}
          </WriteButton>
          <Button variant="default" onClick={() => onChoose(null)}>
            Back to the present
          </Button>
        </span>
      )}
      {restore.error === null ? null : <Failed error={restore.error} />}
      <Loaded query={query}>
        {(page) => (
          <ol className="tight plain-list" aria-label="Changes">
            {page.items.map((change, index) => (
              <li key={`${change.version}-${index}`} className="bar">
                <button type="button" className="link mono" onClick={() => onChoose(change.version)}>
                  v{change.version}
                </button>
                <span className={change.undone ? "struck" : ""}>{visible(change.summary)}</span>
                {change.undone ? <span className="muted">undone</span> : null}
                <span className="spacer" />
                <span className="muted">
                  {change.origin}, {visible(change.actor_name ?? change.actor)}
                </span>
                <When at={change.time} />
              </li>
            ))}
            {page.items.length === 0 ? <li className="muted">No change yet.</li> : null}
          </ol>
        )}
      </Loaded>
    </section>
  );
}
