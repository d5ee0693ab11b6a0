import { ActionIcon } from "@mantine/core";
import { useReactFlow, useStore } from "@xyflow/react";
import { Map as MapIcon, Maximize, ZoomIn, ZoomOut } from "lucide-react";
import { Icon } from "../../../shared/values/icon";
import type { DrawnNode } from "./merged-graph";

/** How large the diagram is drawn. Below the canvas: so it is never over a node. */
export function ZoomBar({ map, onMap, onFit }: { map: boolean; onMap: (shown: boolean) => void; onFit: () => void }) {
  const { zoomTo } = useReactFlow<DrawnNode>();
  const zoom = useStore((state) => state.transform[2]);
  return (
    <div className="zoom-bar" role="toolbar" aria-label="Zoom">
      <ActionIcon variant="subtle" color="gray" aria-label="Map" title="Map" aria-pressed={map} onClick={() => onMap(!map)}>
        <Icon of={MapIcon} />
      </ActionIcon>
      <ActionIcon variant="subtle" color="gray" aria-label="Zoom out" title="Zoom out" onClick={() => void zoomTo(zoom / 1.25)}>
        <Icon of={ZoomOut} />
      </ActionIcon>
      <button type="button" className="zoom-now" title="Zoom to 100%" onClick={() => void zoomTo(1)}>
        {Math.max(1, Math.round(zoom * 100))}%
      </button>
      <ActionIcon variant="subtle" color="gray" aria-label="Zoom in" title="Zoom in" onClick={() => void zoomTo(zoom * 1.25)}>
        <Icon of={ZoomIn} />
      </ActionIcon>
      <ActionIcon variant="subtle" color="gray" aria-label="Fit to screen" title="Fit to screen (Shift 1)" onClick={onFit}>
        <Icon of={Maximize} />
      </ActionIcon>
    </div>
  );
}
