import { createContext } from "react";
import type { Rect } from "../../../shared/flows/elements";

/** Where a node is drawn: for a link that leads back to it. */
export const EdgeBoxes = createContext<(id: string) => Rect | undefined>(() => undefined);
