import { useQuery } from "@tanstack/react-query";
import { get } from "../../api/client";
import type { KeyInfo, Page } from "../../api/types";

/** The names of API keys by their ids; none where the caller may not list them. */
export function useKeyNames(wanted: boolean): ReadonlyMap<string, string> {
  const keys = useQuery({ queryKey: ["keys"], queryFn: () => get<Page<KeyInfo>>("/v1/keys", { limit: 200 }), enabled: wanted });
  return new Map(keys.data?.items.map((key) => [key.id, key.name]));
}
