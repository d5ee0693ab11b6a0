import type { LucideIcon } from "lucide-react";

/** An icon next to a word, or in a button that has a name; never the only sign of anything. */
export function Icon({ of: Shape, size = 16 }: { of: LucideIcon; size?: 14 | 15 | 16 | 20 }) {
  return <Shape className="icon" size={size} strokeWidth={size === 20 ? 1.5 : 1.75} aria-hidden="true" />;
}
