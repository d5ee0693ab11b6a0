import { Button, Menu } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { memo } from "react";
import { post, send } from "../../api/client";
import { visible } from "../../shared/code/ansi";
import { download } from "../../shared/files/download";
import { WriteButton } from "../../shared/editing/write-button";
import type { outline } from "./canvas/outline";

type OnFault = (error: unknown) => void;

export function Layout({ base, onDone, onFault, disabled }: { base: string; onDone: () => void; onFault: OnFault; disabled: boolean }) {
  const layout = useMutation({ mutationFn: (direction: string) => post(`${base}/layout`, { direction }), onSuccess: onDone, onError: onFault });
  return (
    <Menu transitionProps={{ duration: 0 }}>
      <Menu.Target>
        <WriteButton variant="default" disabled={disabled} loading={layout.isPending}>
          Lay out
        </WriteButton>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item onClick={() => layout.mutate("LR")}>Left to right</Menu.Item>
        <Menu.Item onClick={() => layout.mutate("TB")}>Top to bottom</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

const FORMS = [["mermaid", "mmd"], ["json", "json"], ["dot", "dot"], ["svg", "svg"]] as const;

export function Export({ base, name, onFault }: { base: string; name: string; onFault: OnFault }) {
  const save = async (format: string, ending: string): Promise<void> => {
    const answer = await send("GET", `${base}/export`, { query: { format }, headers: { Accept: "*/*" } });
    download(await answer.blob(), `${name}.${ending}`);
  };
  return (
    <Menu transitionProps={{ duration: 0 }}>
      <Menu.Target>
        <Button variant="default">Export</Button>
      </Menu.Target>
      <Menu.Dropdown>
        {FORMS.map(([format, ending]) => (
          <Menu.Item key={format} onClick={() => void save(format, ending).catch(onFault)}>
            {format}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}

const MOST_LINES = 500;

/** The flow as text: the canvas' twin for who does not see it. A line leads to its node. */
export const Outline = memo(function Outline({ lines, onShow }: { lines: ReturnType<typeof outline>; onShow: (id: string) => void }) {
  return (
    <details className="panel">
      <summary>Outline: {lines.length} nodes</summary>
      <ol>
        {lines.slice(0, MOST_LINES).map((line) => (
          <li key={line.id}>
            <button type="button" className="link outline-line" onClick={() => onShow(line.id)}>
              {visible(line.text)}
            </button>
          </li>
        ))}
      </ol>
      {lines.length > MOST_LINES ? <p className="muted">And {lines.length - MOST_LINES} more; the export as Mermaid has them all.</p> : null}
    </details>
  );
});
