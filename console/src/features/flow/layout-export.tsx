import { Button, Menu } from "@mantine/core";
import { Download, Waypoints } from "lucide-react";
import { send } from "../../api/client";
import { WriteButton } from "../../shared/editing/write-button";
import { download } from "../../shared/files/download";
import { Icon } from "../../shared/values/icon";

export type Direction = "LR" | "TB";

export function Layout({ busy, disabled, onLayout }: { busy: boolean; disabled: boolean; onLayout: (direction: Direction) => void }) {
  return (
    <Menu transitionProps={{ duration: 0 }}>
      <Menu.Target>
        <WriteButton variant="subtle" color="gray" disabled={disabled} loading={busy} leftSection={<Icon of={Waypoints} />}>
          Auto-layout
        </WriteButton>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item onClick={() => onLayout("LR")}>Left to right</Menu.Item>
        <Menu.Item onClick={() => onLayout("TB")}>Top to bottom</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

const FORMS = [["Mermaid", "mermaid", "mmd"], ["JSON", "json", "json"], ["DOT", "dot", "dot"]] as const; // prettier-ignore

export type PictureForm = "png" | "svg" | "copy";

interface Props {
  base: string;
  name: string;
  onPicture: (form: PictureForm) => Promise<void>;
  onFault: (error: unknown) => void;
}

/** As a picture, as it is drawn here, or in a form that other programs read. */
export function Export({ base, name, onPicture, onFault }: Props) {
  const save = async (format: string, ending: string): Promise<void> => {
    const answer = await send("GET", `${base}/export`, { query: { format }, headers: { Accept: "*/*" } });
    download(await answer.blob(), `${name}.${ending}`);
  };
  return (
    <Menu transitionProps={{ duration: 0 }}>
      <Menu.Target>
        <Button variant="default" leftSection={<Icon of={Download} />}>
          Export
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>Picture</Menu.Label>
        <Menu.Item onClick={() => void onPicture("png").catch(onFault)}>PNG</Menu.Item>
        <Menu.Item onClick={() => void onPicture("svg").catch(onFault)}>SVG</Menu.Item>
        <Menu.Item onClick={() => void onPicture("copy").catch(onFault)}>Copy to the clipboard</Menu.Item>
        <Menu.Divider />
        <Menu.Label>File</Menu.Label>
        {FORMS.map(([words, format, ending]) => (
          <Menu.Item key={format} onClick={() => void save(format, ending).catch(onFault)}>
            {words}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
